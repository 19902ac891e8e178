/** Errors of PostgreSQL and of the way to it, in words that say what to do. */
import { raisedMark } from '@headgate/pipelines/raised-mark';
import { getReason } from '../../log.ts';
import { OutcomeUnknown, renderPlace } from '../served/served-faults.ts';
import type { PostgresAccess } from './postgres-access.ts';

/** What PostgreSQL says of an error. */
interface ServerError extends Error {
  code?: string;
  detail?: string;
  hint?: string;
  position?: string;
  /** What the position is in, if it is not the statement itself. */
  sent?: string;
}

/** SQLSTATE; undefined if the server did not answer. */
export function getServerCode(failure: unknown): string | undefined {
  const code = failure instanceof Error ? (failure as ServerError).code : undefined;
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** What the server sent is not passed to the client; its session is closed. `size`: it is too much. */
export class RefusedMessage extends Error {
  readonly reason: 'size' | 'form';

  constructor(what: string, reason: 'size' | 'form') {
    super(what);
    this.reason = reason;
  }
}

/** A statement was stopped because of what the server sent. */
export function refuseMessage({ message, reason }: RefusedMessage, name: string, isQuery: boolean): Error {
  const sent = `the server of the connection "${name}" sent ${message}`;
  const remedy =
    reason === 'form'
      ? 'which PostgreSQL does not send: check the server'
      : 'which is more than the agent reads: select less, or keep the rows in the warehouse, as in CREATE TABLE … AS SELECT';
  if (isQuery) return new Error(`${sent}, ${remedy}`);
  return new OutcomeUnknown(`${sent}, ${remedy}. It is not known whether the statement took effect`);
}

/** The message of a failed statement, with the line that it is about. */
export function describeStatementError(failure: unknown, sql: string): Error {
  if (!(failure instanceof Error)) return new Error(String(failure));
  const { message, code, detail, hint, position, sent = sql } = failure as ServerError;
  if (code === undefined) return failure;
  const raised = code === '22P02' ? readRaised(message) : undefined;
  if (raised !== undefined) return new Error(raised);
  const parts = [`${message} (${code})`];
  if (detail !== undefined) parts.push(detail);
  if (hint !== undefined) parts.push(`Hint: ${hint}`);
  const place = position === undefined ? '' : renderPlace(sent, Number(position));
  return new Error(`${parts.join('\n')}${place}`);
}

/** `invalid input syntax for type boolean: "headgate: …"` */
function readRaised(message: string): string | undefined {
  const from = message.indexOf(`"${raisedMark}`);
  return from < 0 ? undefined : message.slice(from + 1 + raisedMark.length, message.lastIndexOf('"'));
}

/** Why no connection was made. `at`: host and port. */
export function describeConnectError(
  failure: unknown,
  { name, credential }: Pick<PostgresAccess, 'name' | 'credential'>,
  at: string,
): Error {
  const code = failure instanceof Error ? (failure as ServerError).code : undefined;
  const words = getReason(failure);
  const connection = `the connection "${name}"`;
  if (failure instanceof RefusedMessage)
    return new Error(
      `the server ${at} of ${connection} sent ${words} while the agent signed in: check that host and port are those of PostgreSQL`,
    );
  if (code === '28P01' || code === '28000')
    return new Error(
      `the server ${at} refused to sign in (${words}): correct "${credential.username}" or the secret "${credential.password}" of ${connection}, or what the server allows`,
    );
  if (code === '3D000') return new Error(`${words}: correct "database" of ${connection}`);
  if (code === '53300')
    return new Error(
      `the server ${at} has no connection left (${words}): raise its limit, or run less at a time`,
    );
  if (/does not support SSL/.test(words))
    return new Error(
      `the server ${at} does not support TLS: set "sslMode" of ${connection} to disable if the network is safe`,
    );
  if (code !== undefined && /CERT|TLS|SSL|ALTNAME|SIGNATURE|ISSUER/.test(code))
    return new Error(
      `the certificate of the server ${at} cannot be verified (${code}: ${words}): set "sslRootCertificate" of ${connection} to the certificate of its issuer`,
    );
  if (code !== undefined && /^E[A-Z]+$/.test(code))
    return new Error(
      `the server ${at} of ${connection} cannot be reached (${code}): check host, port and network`,
    );
  return new Error(`${connection} to ${at} failed: ${words}`);
}
