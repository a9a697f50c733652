// The reader rule against the vectors that the Python reader passes as well.
// Rules live in tests/vectors/reader.json; only what JSON cannot say is written here.
import { describe, expect, it } from "vitest";
import vectors from "../../tests/vectors/reader.json";
import { EMPTY, lastId, take, textOf, type Numbered, type ReaderState } from "../src/reader";

interface Vector {
  name: string;
  events: Numbered[];
  expect: { action: string; needs_fetch?: boolean }[];
  text: string;
  last: string | null;
}

describe("reader vectors", () => {
  it.each(vectors as unknown as Vector[])("$name", (vector) => {
    let state: ReaderState = EMPTY;
    const seen = vector.events.map((event) => {
      const step = take(state, event);
      state = step.state;
      return step.action === "end"
        ? { action: step.action, needs_fetch: step.needsFetch }
        : { action: step.action };
    });
    expect(seen).toEqual(vector.expect);
    expect(textOf(state)).toBe(vector.text);
    expect(lastId(state)).toBe(vector.last);
  });

  it("has a name of its own for every vector", () => {
    expect(new Set(vectors.map((vector) => vector.name)).size).toBe(vectors.length);
  });
});

describe("take", () => {
  it("leaves the very same state on a gap, so that the caller reads again from it", () => {
    const { state } = take(EMPTY, { id: "1-0", event: { type: "open", keep: 0 } });
    expect(take(state, { id: "1-2", event: { type: "delta", part: 0, text: "x" } }).state).toBe(state);
  });
});
