// What a refusal is, on REST and on the socket alike: a problem of RFC 9457 with our fields.
// No requests here and no words for people; those are in http.ts and words.ts.

export interface FieldError {
  field: string;
  reason: string;
  limit?: number;
}

export interface Problem {
  type?: string;
  title: string;
  status: number;
  code: string;
  detail?: string;
  errors?: FieldError[];
  retry_after_s?: number;
}

/** A request that was refused, or (status 0, code `offline`) never reached the server. */
export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
    this.name = "Refusal";
  }
}

export const OFFLINE: Problem = {
  title: "No connection",
  status: 0,
  code: "offline",
  detail: "The server can't be reached. Check your connection and try again.",
};

/** The problem of anything that was thrown; what is not a refusal is thrown on. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Refusal) return error.problem;
  throw error;
}

/** Whether a refusal means that nobody is signed in here any more. */
export function isSignedOut(problem: Problem): boolean {
  return problem.status === 401 || problem.code === "not_authenticated";
}
