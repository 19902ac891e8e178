/** Requests as text, which can be sent repeatedly. */

/** A placeholder for a unique number in a request, with the same length as the number. */
export const uniqueNumber = '@@@@@@@@@@@@';

export function requestText(
  method: string,
  path: string,
  { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
): string {
  const content = body === undefined ? '' : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1'];
  if (token !== undefined) lines.push(`Authorization: Bearer ${token}`);
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined)
    lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(content)}`);
  return `${lines.join('\r\n')}\r\n\r\n${content}`;
}

/** A request as bytes, in which unique numbers replace the placeholders in place. */
export function numberedRequest(text: string): { bytes: Buffer; number(value: number): void } {
  const bytes = Buffer.from(text);
  const places: number[] = [];
  for (let at = bytes.indexOf(uniqueNumber); at >= 0; at = bytes.indexOf(uniqueNumber, at + 1))
    places.push(at);
  return {
    bytes,
    number(value) {
      for (const place of places) {
        let rest = value;
        for (let digit = place + uniqueNumber.length - 1; digit >= place; digit--) {
          bytes[digit] = 48 + (rest % 10);
          rest = Math.floor(rest / 10);
        }
      }
    },
  };
}
