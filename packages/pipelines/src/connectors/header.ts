/** Which headers a profile may send. */
import { shorten } from '../format/template.ts';

/** RFC 9110, section 5.6.2. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** These belong to the connection itself, or could send a request to another server. */
const ownHeaders = ['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'te', 'trailer'];

/** Whether a header can hold it. A line break would add a header. */
export const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

/** Why a header cannot be sent; undefined if it can. */
export function describeHeaderFault(name: string, value: string | undefined): string | undefined {
  if (!headerName.test(name)) return `"${shorten(name)}" is not the name of a header`;
  if (ownHeaders.includes(name.toLowerCase())) return `the header "${name}" cannot be set`;
  if (value !== undefined && !isHeaderValue(value))
    return `the header "${name}" has a character that a header cannot hold, such as a line break`;
  return undefined;
}
