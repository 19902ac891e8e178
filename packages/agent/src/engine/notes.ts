/** Adds what had no effect to the message of a step that succeeded. */

/** @param withoutEffect names of parameters */
export function addNotes<R extends { status: string; message?: string }>(
  result: R,
  withoutEffect: readonly string[],
): R {
  if (result.status !== 'SUCCESS' || withoutEffect.length === 0) return result;
  const note = `no effect here: ${withoutEffect.join(', ')}`;
  return { ...result, message: result.message === undefined ? note : `${result.message}\n${note}` };
}
