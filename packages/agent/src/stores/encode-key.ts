import { PermanentFault } from '@headgate/pipelines';
import { encodeRfc3986 } from './sigv4.ts';

/**
 * The path of an object in an address.
 *
 * @throws PermanentFault if it has a part `.` or `..`: the address would be that of another object, also of another
 * bucket
 */
export function encodeKey(key: string): string {
  const parts = key.split('/');
  if (parts.includes('.') || parts.includes('..'))
    throw new PermanentFault(
      `the object ${JSON.stringify(key.slice(0, 200))} has a part "." or ".." in its name, which no address can have: rename it`,
    );
  return parts.map(encodeRfc3986).join('/');
}
