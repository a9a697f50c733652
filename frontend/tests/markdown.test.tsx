// What an answer's Markdown becomes: nothing that runs, nothing fetched from elsewhere, right directions.
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { blocks } from "../src/blocks";
import { Markdown } from "../src/views/markdown";

function page(text: string, isGrowing = false): HTMLElement {
  const body = document.createElement("div");
  body.innerHTML = renderToStaticMarkup(<Markdown text={text} isGrowing={isGrowing} />);
  return body;
}

describe("Markdown", () => {
  it.each([
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "<svg onload=alert(1)></svg>",
    "<iframe src=https://example.org></iframe>",
    "text <b onclick=alert(1)>bold</b>",
  ])("shows raw HTML as it was written: %s", (html) => {
    const shown = page(html);
    expect(shown.querySelector("script, img, svg:not(.icon), iframe, b")).toBeNull();
    expect(shown.textContent).toContain(html);
  });

  it.each(["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "/logout", "//evil.test", "#x"])(
    "makes no link of %s",
    (url) => {
      const shown = page(`[word](${url})`);
      expect(shown.querySelector("a")).toBeNull();
      expect(shown.textContent).toContain("word");
    },
  );

  it("opens links of the web elsewhere, without telling where from", () => {
    const link = page("[word](https://example.org/a)").querySelector("a");
    expect(link?.href).toBe("https://example.org/a");
    expect(link?.target).toBe("_blank");
    expect(link?.rel).toContain("noopener");
  });

  it("loads no images, it links them", () => {
    const shown = page("![a cat](https://tracker.test/cat.png)");
    expect(shown.querySelector("img")).toBeNull();
    expect(shown.querySelector("a")?.textContent).toBe("a cat");
  });

  it("leaves prices alone", () => {
    expect(page("It costs $5 or $6.").textContent).toBe("It costs $5 or $6.");
  });

  it("lets each block find its direction, and keeps code left to right", () => {
    const shown = page("שלום `a()`\n\n- אחת\n\n```js\nlet a;\n```\n\n| א |\n| - |\n| b |");
    expect(shown.querySelector("p")?.dir).toBe("auto");
    expect(shown.querySelector("ul")?.dir).toBe("auto");
    expect(shown.querySelector("table")?.dir).toBe("auto");
    expect(shown.querySelector("p code")?.getAttribute("dir")).toBe("ltr");
    expect(shown.querySelector("pre")?.closest("[dir]")?.getAttribute("dir")).toBe("ltr");
  });

  it("gives a block of code its text, its language and a button to copy it", () => {
    const shown = page("```python\nprint(1)\n\nprint(2)\n```");
    expect(shown.querySelector("pre")?.textContent).toBe("print(1)\n\nprint(2)");
    expect(shown.querySelector(".code-head")?.textContent).toBe("python");
    expect(shown.querySelector("button")?.getAttribute("aria-label")).toBe("Copy code");
  });
});

describe("blocks", () => {
  const TEXT = [
    "First *paragraph*\nof two lines.\n\n",
    "## Head\n\n",
    "A list:\n\n- one\n\n  more of one\n\n- two\n\n1. and\n\n",
    "Then code:\n\n",
    "```py\na\n\nb\n```\n\n",
    "Last",
  ];

  it("cuts between paragraphs, not inside lists, and joins to the text", () => {
    expect(blocks(TEXT.join(""))).toEqual(TEXT);
  });

  it("never cuts inside a fence, also one that is not closed yet", () => {
    const fenced = "```\na\n\nb\n\n~~~\n\n``\n\nc";
    expect(blocks(fenced)).toEqual([fenced]);
  });

  it("shows a growing text as it will show the whole", () => {
    const growing = page(TEXT.join(""), true);
    const whole = page(TEXT.join(""));
    const inner = (shown: HTMLElement) => shown.firstElementChild?.innerHTML.replace(/\s+(?=<)/g, "");
    expect(inner(growing)).toBe(inner(whole));
  });
});
