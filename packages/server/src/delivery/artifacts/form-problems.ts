/** The problems of a multipart form that cannot be taken. */
import { problem } from '../../kernel/http/problems.ts';

/** @param reason a clause without its full stop */
export function createUnreadableProblem(reason: string) {
  return problem('invalid-upload', { reason: `${reason}.` });
}

/**
 * @param limit a clause without its full stop
 * @param setting the operator's setting of the limit
 */
export function createTooLargeProblem(limit: string, setting: string) {
  return problem('body-too-large', { limit: `${limit} (${setting})` });
}
