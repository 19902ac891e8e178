import {
  type ProblemAbout,
  type ProblemCode,
  type ProblemDetail,
  problems,
  problemTypeName,
  statusTitles,
} from '@headgate/contract';

/** A fault of a request: its location as a dotted field and as a JSON pointer, and a description. */
export interface Violation {
  field: string;
  pointer: string;
  detail: string;
}

/**
 * Thrown by request handlers and rendered in one place. The detail may quote the caller's input, never a
 * secret.
 */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly violations: readonly Violation[];
  /** Response headers of this problem, such as `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    extra: { violations?: readonly Violation[]; headers?: Record<string, string> } = {},
  ) {
    super(detail);
    this.name = 'Problem';
    this.code = code;
    this.violations = extra.violations ?? [];
    this.headers = extra.headers ?? {};
  }

  get status() {
    return problems[this.code].status;
  }
}

type About<Code extends ProblemCode> =
  ProblemAbout<Code> extends undefined ? [] : [about: ProblemAbout<Code>];

/** `throw problem('variable-not-found', { name })` */
export function problem<Code extends ProblemCode>(code: Code, ...about: About<Code>): Problem {
  const detail = problems[code].detail as (about: unknown) => string;
  return new Problem(code, detail(about[0]));
}

export function withHeaders(base: Problem, headers: Record<string, string>): Problem {
  return new Problem(base.code, base.message, { violations: base.violations, headers });
}

export function createTokenProblem(): Problem {
  const detail = 'is not a value of `more`';
  return invalidRequest([{ field: 'query.paginationToken', pointer: '/query/paginationToken', detail }]);
}

export function invalidRequest(violations: readonly Violation[]): Problem {
  return withViolations(problem('invalid-request'), violations);
}

export function withViolations(base: Problem, violations: readonly Violation[]): Problem {
  return new Problem(base.code, base.message, { violations, headers: base.headers });
}

export function renderProblem(
  failure: Problem,
  about: { typeBase: string; instance: string; traceId: string },
): ProblemDetail {
  const detail: ProblemDetail = {
    type: `${about.typeBase}/${problemTypeName(failure.status)}`,
    title: statusTitles[failure.status],
    status: failure.status,
    detail: failure.message,
    instance: about.instance,
    code: failure.code,
    traceId: about.traceId,
  };
  if (failure.violations.length > 0) {
    detail.violations = failure.violations.map(({ field, detail }) => `${field}: ${detail}`);
    detail.errors = failure.violations.map(({ pointer, detail }) => ({ pointer, detail }));
  }
  return detail;
}
