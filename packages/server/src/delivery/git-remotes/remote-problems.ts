/** Failures of other hosts as the problems of requests. */
import { type Problem, problem, withHeaders } from '../../kernel/http/problems.ts';
import type { RemoteFailure } from './remote.ts';

/** @param field what the failing address is called */
export function createRemoteProblem(
  failure: RemoteFailure,
  field = 'The address of the repository',
): Problem {
  switch (failure.kind) {
    case 'address-refused':
      return problem('clone-url-refused', { field, reason: failure.reason });
    case 'timeout':
      return problem('git-host-timeout', { reason: failure.reason });
    case 'too-large':
      return problem('repository-too-large', { reason: failure.reason });
    default:
      return withHeaders(
        problem('git-host-failed', { reason: failure.reason, words: failure.text ?? '' }),
        pickWait(failure),
      );
  }
}

/** What git itself says, when the relay saw nothing wrong. */
export function createGitWordsProblem(host: string, words: string): Problem {
  const said = /^(?:fatal|error|remote): .*$/m.exec(words)?.[0] ?? words;
  return problem('git-host-failed', {
    reason: `Git could not read the repository at ${host}.`,
    words: said.slice(0, 1_000),
  });
}

function pickWait({ status, headers }: RemoteFailure): Record<string, string> {
  const wait = headers?.['retry-after'];
  return status === 429 && wait !== undefined && /^\d{1,6}$/.test(wait) ? { 'Retry-After': wait } : {};
}
