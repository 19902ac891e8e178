/** The members of a JSON object: of a secret, or of the response of a token server. */
import { parseJson } from '@headgate/pipelines';

/** Without members if it is another value; undefined if the text is not JSON. */
export function readJsonMembers(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return undefined;
  }
}
