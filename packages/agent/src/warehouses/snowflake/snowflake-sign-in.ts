/** Opens a session with Snowflake by a key pair. */
import { randomUUID } from 'node:crypto';
import type { SnowflakeAccess } from './snowflake-access.ts';
import { RefusedAnswer } from './snowflake-answer.ts';
import type { Answer, CallTime, SnowflakeCalls } from './snowflake-calls.ts';
import { describeSignInFault, ServerFault } from './snowflake-faults.ts';
import { createToken } from './snowflake-token.ts';

/** A clock that is further away than this is a fault of the machine, which tokens would fail by. */
const leastSkew = 30_000;

export interface SignedIn {
  token: string;
  masterToken: string;
  sessionId: string;
  serverVersion: string;
}

/** @throws Error that says what to do */
export async function signIn(
  access: SnowflakeAccess,
  calls: SnowflakeCalls,
  time: CallTime,
  { tag, milliseconds }: { tag: string; milliseconds: number },
): Promise<SignedIn> {
  const signal = AbortSignal.timeout(milliseconds);
  const send = async (skew: number) =>
    calls.send(createSignIn(access, tag, await createToken(access, time.date().getTime() + skew), signal));
  try {
    const answer = await send(0).catch((failure: unknown) => {
      const skew = findSkew(failure, time);
      if (skew === undefined) throw failure;
      return send(skew);
    });
    const signedIn = readSignedIn(answer);
    requirePlace(access, answer.data.sessionInfo);
    return signedIn;
  } catch (failure) {
    if (signal.aborted)
      throw new Error(
        `the server ${access.origin.host} of the connection "${access.name}" did not sign in within ${milliseconds / 1_000} s: check account, host and network`,
      );
    throw describeSignInFault(failure, access);
  }
}

/** Milliseconds that the server's clock is ahead, if this may be why it refused the token. */
function findSkew(failure: unknown, time: CallTime): number | undefined {
  if (!(failure instanceof ServerFault) || !/^39(?:0144|43\d\d)$/.test(failure.code)) return undefined;
  const { serverTime } = failure as ServerFault & { serverTime?: number };
  if (serverTime === undefined) return undefined;
  const skew = serverTime - time.date().getTime();
  return Math.abs(skew) < leastSkew ? undefined : skew;
}

function createSignIn(access: SnowflakeAccess, tag: string, token: string, signal: AbortSignal) {
  const place = {
    warehouse: access.warehouse,
    databaseName: access.database,
    schemaName: access.schema,
    roleName: access.role,
  };
  const named = Object.entries(place).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, writeName(value)] as const],
  );
  return {
    method: 'POST',
    path: '/session/v1/login-request',
    query: { ...Object.fromEntries(named), requestId: randomUUID() },
    body: {
      data: {
        ACCOUNT_NAME: access.account,
        LOGIN_NAME: access.username,
        AUTHENTICATOR: 'SNOWFLAKE_JWT',
        TOKEN: token,
        CLIENT_ENVIRONMENT: { APPLICATION: 'headgate' },
        SESSION_PARAMETERS: {
          QUERY_TAG: tag,
          TIMEZONE: access.timeZone,
          AUTOCOMMIT: true,
          ABORT_DETACHED_QUERY: true,
          ERROR_ON_NONDETERMINISTIC_MERGE: true,
        },
      },
    },
    isSafe: true,
    signal,
  } as const;
}

/** A plain name is in upper case, and others are in quotes. */
const writeName = (name: string) =>
  /^[A-Z_][A-Z0-9_$]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;

/** @throws RefusedAnswer */
function readSignedIn({ data }: Answer): SignedIn {
  const { token, masterToken, sessionId, serverVersion } = data;
  if (
    typeof token !== 'string' ||
    typeof masterToken !== 'string' ||
    !isToken(token) ||
    !isToken(masterToken)
  )
    throw new RefusedAnswer('no token of a session', 'form');
  return {
    token,
    masterToken,
    sessionId: /^\d{1,20}$/.test(String(sessionId)) ? String(sessionId) : '',
    serverVersion: typeof serverVersion === 'string' ? serverVersion.slice(0, 100) : '',
  };
}

/** It goes into a header. */
const isToken = (token: string) => token.length <= 100_000 && /^[\w./+=:~-]+$/.test(token);

/** Snowflake signs in also where the role may not use what the connection names. */
function requirePlace({ name, ...access }: SnowflakeAccess, info: unknown): void {
  const found = typeof info === 'object' && info !== null ? (info as Record<string, unknown>) : {};
  for (const property of ['warehouse', 'database', 'schema'] as const) {
    const expected = access[property];
    if (expected === undefined || found[`${property}Name`] === expected) continue;
    const role = typeof found.roleName === 'string' ? ` "${found.roleName.slice(0, 300)}"` : '';
    throw new Error(
      `the ${property} "${expected}" does not exist, or may not be used by the role${role}: create it, grant USAGE on it, or correct "${property}" of the connection "${name}"`,
    );
  }
}
