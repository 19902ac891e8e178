/** Secrets with several values in a store of texts: the values are the members of a JSON object. */
import { Secret } from '@headgate/contract/without-schemas';

/** Sets one value of a secret; undefined if the secret is not a JSON object. */
export function setKey(text: Secret | undefined, key: string, value: Secret): Secret | undefined {
  const members = text === undefined ? {} : parseMembers(text);
  if (members === undefined) return undefined;
  const entries = Object.entries(members).filter(([name]) => name !== key);
  return new Secret(JSON.stringify(Object.fromEntries([...entries, [key, value.reveal()]])));
}

/** One value of a secret; undefined if it has no such key. */
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

/** The address of a secret and its key: `name#key`. */
export function formatAddress(name: string, key: string | undefined): string {
  return key === undefined ? name : `${name}#${key}`;
}
