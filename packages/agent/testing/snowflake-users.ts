/** The users of the fake Snowflake, and its check of key pairs, as Snowflake's documentation describes it. */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

export interface FakeUser {
  publicKey: KeyObject;
  /** By role, what it is granted. PUBLIC is everyone's. */
  roles: Readonly<Record<string, readonly FakeGrant[]>>;
  defaultRole: string;
}

export type FakeGrant = readonly [privilege: string, grantedOn: string, name: string];

const longestSeconds = 3_600;

/** Seconds since 1970, or milliseconds, as the vendor's driver for JavaScript writes them. */
const readSeconds = (time: number) => (time > 100_000_000_000 ? Math.floor(time / 1_000) : time);

/** Why a token is refused; undefined: it is good. @param now seconds since 1970 */
export function findTokenFault(
  token: unknown,
  login: { account: string; name: string; user: FakeUser | undefined },
  now: number,
): string | undefined {
  const [header = '', claims = '', signature = ''] = String(token).split('.');
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  if (login.user === undefined) return 'no such user';
  const { alg } = read(header);
  const { iss, sub, ...times } = read(claims);
  const [iat, exp] = [readSeconds(times.iat), readSeconds(times.exp)];
  const subject = `${login.account}.${login.name.toUpperCase()}`;
  const der = createPublicKey(login.user.publicKey.export({ type: 'spki', format: 'pem' })).export({
    type: 'spki',
    format: 'der',
  });
  if (alg !== 'RS256') return 'not RS256';
  if (sub !== subject) return 'another subject';
  if (iss !== `${subject}.SHA256:${createHash('sha256').update(der).digest('base64')}`)
    return 'another issuer';
  if (!Number.isInteger(exp) || exp <= now || exp > now + longestSeconds + 60) return 'not valid now';
  if (Number.isInteger(iat) && (iat > now + 60 || exp - iat > longestSeconds)) return 'valid for too long';
  const isSigned = verify(
    'RSA-SHA256',
    Buffer.from(`${header}.${claims}`),
    login.user.publicKey,
    Buffer.from(signature, 'base64url'),
  );
  return isSigned ? undefined : 'not signed by the registered key';
}
