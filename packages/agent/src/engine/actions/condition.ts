/** The result of a condition that is an expression. */
import { ExpressionError, type ExpressionValue, shorten } from '@headgate/pipelines';

/** Stricter than JavaScript, in which any other text is true, even a condition in quotes. */
export function isTrue(value: ExpressionValue): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  const word = value?.trim().toLowerCase();
  if (word === 'true' || word === 'yes') return true;
  if (word === 'false' || word === 'no') return false;
  const yielded = value === null ? 'nothing' : JSON.stringify(shorten(value));
  throw new ExpressionError(
    `the condition yields ${yielded}, which is neither true nor false: write a comparison without quotes around it, as in n > 5`,
  );
}
