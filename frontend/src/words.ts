// The words people read for codes and states. No codes are decided here, only said.
import type { GenerationState } from "./api";
import type { Problem } from "./problem";

const GENERATION_ERRORS: Record<string, string> = {
  interrupted: "The answer was interrupted before it was finished. What came so far is kept.",
  engine_unavailable: "No model was free to answer in time.",
  engine_refused: "The model refused this request.",
  engine_failed: "The model failed while it was answering.",
  context_too_long: "This conversation has become too long for the model.",
  deadline: "The answer took too long and was ended.",
};

const PROBLEMS: Record<string, string> = {
  answer_running: "The answer before this is still being written. Wait for it or stop it, then send again.",
  client_id_reused: "This was sent before with another text. Send it again.",
  signed_out: "You are signed out. Your text is kept here.",
};

interface Ending {
  state: GenerationState;
  error_code?: string | null;
  finish_reason?: string | null;
}

/** What to say under an answer that ended badly, or null when there is nothing to say. */
export function endWords(generation: Ending): string | null {
  if (generation.state === "failed") {
    return GENERATION_ERRORS[generation.error_code ?? ""] ?? "The answer failed.";
  }
  if (generation.state === "blocked") return "This answer was withheld by the content rules.";
  if (generation.state === "stopped") return "Stopped.";
  if (generation.finish_reason === "length") return "The answer reached the length limit and ends here.";
  return null;
}

/** What to say of a refusal, with what to do. */
export function problemWords(problem: Problem): string {
  const said = problem.detail || PROBLEMS[problem.code] || problem.title;
  const fields = (problem.errors ?? []).map(fieldWords).filter((words) => !said.includes(words));
  const wait = problem.retry_after_s ? `Try again in ${waitWords(problem.retry_after_s)}.` : "";
  return [said, ...fields, wait].filter(Boolean).map(asSentence).join(" ");
}

/** Where an answer stands in the queue; place 0 is next. */
export function placeWords(place: number): string {
  if (place <= 0) return "Waiting for the model: you are next";
  return `Waiting for the model: ${place} ${place === 1 ? "answer" : "answers"} before yours`;
}

/** "12 s", "3 min" or "2 h". */
function waitWords(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.ceil(seconds / 60)} min`;
  return `${Math.ceil(seconds / 3600)} h`;
}

function fieldWords(error: { reason: string; limit?: number }): string {
  return error.limit === undefined ? error.reason : `${error.reason} (limit ${error.limit.toLocaleString("en")})`;
}

function asSentence(words: string): string {
  return /[.!?]$/.test(words) ? words : `${words}.`;
}
