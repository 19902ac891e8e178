/** Secrets of a store that keeps one text a secret: several values are the members of a JSON object. */
import { Secret } from '@headgate/contract';

/** The text of a secret with one value put in; undefined when the secret is no object of texts. */
export function setKey(text: Secret | undefined, key: string, value: Secret): Secret | undefined {
  const members = text === undefined ? {} : parseMembers(text);
  if (members === undefined) return undefined;
  const entries = Object.entries(members).filter(([name]) => name !== key);
  return new Secret(JSON.stringify(Object.fromEntries([...entries, [key, value.reveal()]])));
}

/** One value of a secret; undefined when it has none of this key. */
export function getValueUnder(text: Secret, key: string): Secret | undefined {
  const members = parseMembers(text) ?? {};
  const value = Object.hasOwn(members, key) ? members[key] : undefined;
  if (value === undefined) return undefined;
  return new Secret(typeof value === 'string' ? value : JSON.stringify(value));
}

function parseMembers(text: Secret): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.reveal());
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Of a secret and its key, for people and programs: `name#key`. */
export function formatAddress(name: string, key: string | undefined): string {
  return key === undefined ? name : `${name}#${key}`;
}
