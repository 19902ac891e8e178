/** One row of the table of problems: its status, when it is answered, and its detail. */

/** The statuses used, with the phrase that is `title` and, in kebab case, the last part of `type`. */
export const statusTitles = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Entity',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
} as const;
export type ProblemStatus = keyof typeof statusTitles;

export interface ProblemKind {
  status: ProblemStatus;
  /** When the problem is answered, in general: shown by the reference and the OpenAPI document. */
  when: string;
  /** What is wrong with one request. */
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own members; `problem()` checks them
  detail: (about: any) => string;
}

export function kind<About = void>(
  status: ProblemStatus,
  when: string,
  detail: (about: About) => string,
): { status: ProblemStatus; when: string; detail: (about: About) => string } {
  return { status, when, detail };
}

/** A name as a detail shows it. */
export function quoted(name: string): string {
  return JSON.stringify(name);
}

/** A sentence to append to a detail; empty without a near name. */
export function didYouMean(nearest: string | undefined): string {
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`;
}
