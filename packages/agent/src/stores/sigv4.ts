/** Signatures of AWS, version 4, for S3: the payload is signed by its digest. */
import { createHash, createHmac } from 'node:crypto';

export interface AccessKey {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

export interface UnsignedRequest {
  method: string;
  url: URL;
  headers: readonly (readonly [name: string, value: string])[];
  body?: Buffer | undefined;
}

const digest = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** The unreserved characters of RFC 3986 stay. */
export const encodeRfc3986 = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** The headers of the request, signed. "Authenticating Requests (AWS Signature Version 4)" of Amazon S3. */
export function signRequest(
  { method, url, headers, body }: UnsignedRequest,
  key: AccessKey,
  region: string,
  now: Date,
): [string, string][] {
  const date = now.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const day = date.slice(0, 8);
  const payload = digest(body ?? '');
  const sent: [string, string][] = [
    ...headers.map(([name, value]): [string, string] => [name.toLowerCase(), value]),
    ['host', url.host],
    ['x-amz-content-sha256', payload],
    ['x-amz-date', date],
    ...(key.sessionToken === undefined
      ? []
      : [['x-amz-security-token', key.sessionToken] satisfies [string, string]]),
  ];
  sent.sort(([one], [other]) => (one < other ? -1 : 1));
  const signed = sent.map(([name]) => name).join(';');
  const query = [...url.searchParams]
    .map(([name, value]) => `${encodeRfc3986(name)}=${encodeRfc3986(value)}`)
    .sort()
    .join('&');
  const lines = sent.map(([name, value]) => `${name}:${value.trim().replaceAll(/ +/g, ' ')}\n`).join('');
  const canonical = [method, url.pathname, query, lines, signed, payload].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', date, scope, digest(canonical)].join('\n');
  const signing = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${key.secretAccessKey}`,
  );
  const signature = hmac(signing, text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${key.accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
  return [...sent.filter(([name]) => name !== 'host'), ['authorization', authorization]];
}
