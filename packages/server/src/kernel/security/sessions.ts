/**
 * Sessions of browsers. A session is a row; the browser holds its secret in a cookie, the server only a keyed hash of
 * it. Whether the session has ended, and what its user may do, is checked by rights() at every request, so a session
 * that is ended anywhere is refused at once on every server.
 */
import type { Clock } from '../clock.ts';
import { type Database, isDiskFull, statement } from '../database/database.ts';
import { problem } from '../http/problems.ts';
import type { Sealer } from './sealed.ts';
import type { TokenOwner } from './tokens.ts';

/** Of the cookie's value. */
export const sessionPurpose = 'sign-in session';
const secretForm = /^[\w-]{43}$/;
/** How long the owner of a cookie is remembered, and how exact `last_used_at` is. */
const rememberedSeconds = 60;
const mostRemembered = 20_000;

export interface SessionLimits {
  idleMinutes: number;
  mostHours: number;
}

export interface Sessions {
  readonly cookieName: string;
  readonly limits: SessionLimits;
  /** The secret of the session in a Cookie header. */
  readCookie(header: string | undefined): string | undefined;
  /** Throws `session-invalid`. */
  findOwner(secret: string): Promise<TokenOwner>;
  digest(secret: string): Buffer;
}

const ownerRow = {
  account_id: 'uuid',
  user_id: 'uuid',
  session_id: 'uuid',
  idle_until: 'timestamptz',
} as const;
const ownerColumns = 's.account_id, s.user_id, s.session_id, s.idle_until';
const isOpen = 's.secret_digest = $secret_digest and s.expires_at > $now and s.idle_until > $now';
const useOne = statement(
  {
    parameters: { secret_digest: 'bytea', now: 'timestamptz', idle_until: 'timestamptz' },
    row: ownerRow,
  },
  `
  update sign_in_session s set last_used_at = $now, idle_until = least(s.expires_at, $idle_until)
  where ${isOpen} returning ${ownerColumns}`,
);
const selectOne = statement(
  { parameters: { secret_digest: 'bytea', now: 'timestamptz' }, row: ownerRow },
  `select ${ownerColumns} from sign_in_session s where ${isOpen}`,
);

export function createSessions(services: {
  database: Database;
  sealer: Sealer;
  clock: Clock;
  publicUrl: string;
  limits: SessionLimits;
}): Sessions {
  const { database, sealer, clock, publicUrl, limits } = services;
  const cookieName = nameCookie(publicUrl);
  const owners = new Map<string, { owner: TokenOwner; until: number }>();
  const digest = (secret: string) => sealer.digest(secret, sessionPurpose);

  /** Also notes that the session is in use. */
  async function use(secretDigest: Buffer, now: Date) {
    const idleUntil = new Date(now.getTime() + limits.idleMinutes * 60_000);
    try {
      return await database.read(useOne, { secret_digest: secretDigest, now, idle_until: idleUntil });
    } catch (failure) {
      // With a full disk, people can still read.
      if (isDiskFull(failure)) return database.read(selectOne, { secret_digest: secretDigest, now });
      throw failure;
    }
  }

  return {
    cookieName,
    limits,
    digest,
    readCookie: (header) => readCookie(header, cookieName),
    async findOwner(secret) {
      if (!secretForm.test(secret)) throw problem('session-invalid');
      const secretDigest = digest(secret);
      const key = secretDigest.toString('base64');
      const now = clock.now();
      const known = owners.get(key);
      if (known !== undefined && known.until > now.getTime()) return known.owner;
      owners.delete(key);
      const [row] = await use(secretDigest, now);
      if (row === undefined) throw problem('session-invalid');
      const owner: TokenOwner = {
        accountId: row.account_id,
        actorId: row.user_id,
        sessionId: row.session_id,
        isUser: true,
      };
      if (owners.size >= mostRemembered) owners.delete(owners.keys().next().value ?? '');
      const until = Math.min(now.getTime() + rememberedSeconds * 1_000, row.idle_until.getTime());
      owners.set(key, { owner, until });
      return owner;
    },
  };
}

/**
 * With `__Host-` only this host can set it, over HTTPS or on localhost, and no subdomain. Browsers share cookies
 * between the ports of a host, so the name has the port if the address has one.
 */
function nameCookie(publicUrl: string): string {
  const { port } = new URL(publicUrl);
  return `__Host-headgate-session${port === '' ? '' : `-${port}`}`;
}

/** The value of a cookie; undefined if there is none, empty if there are several. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values = (header?.split(';') ?? []).flatMap((part) => {
    const at = part.indexOf('=');
    // Other blanks belong to the name: `__Host-` must be its beginning.
    return at > 0 && part.slice(0, at).replace(/^[ \t]+/, '') === name ? [part.slice(at + 1)] : [];
  });
  // One of two was set by somebody else.
  return values.length > 1 ? '' : values[0];
}
