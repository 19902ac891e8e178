/** The problems of an invalid multipart form. */
import { problem } from '../../../kernel/http/problems.ts';

/** @param reason a clause without full stop */
export function createUnreadableProblem(reason: string) {
  return problem('invalid-upload', { reason: `${reason}.` });
}

/**
 * @param limit a clause without full stop
 * @param setting the operator's setting of the limit
 */
export function createTooLargeProblem(limit: string, setting: string) {
  return problem('body-too-large', { limit: `${limit} (${setting})` });
}
