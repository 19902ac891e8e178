/** Errors of Snowflake and of the way to it, in words that say what to do. */
import { raisedMark } from '@headgate/pipelines/raised-mark';
import { ExchangeError } from '../../connectors/exchange.ts';
import { getReason } from '../../log.ts';
import { lostDuring, OutcomeUnknown, renderPlace } from '../served/served-faults.ts';
import type { SnowflakeAccess } from './snowflake-access.ts';
import { RefusedAnswer } from './snowflake-answer.ts';

/** What the server says of a request that it refuses. */
export class ServerFault extends Error {
  /** Six digits, such as 002003. */
  readonly code: string;
  readonly sqlState: string | undefined;

  constructor(message: string, code: string, sqlState: string | undefined) {
    super(message);
    this.code = code;
    this.sqlState = sqlState;
  }
}

/** A status other than 200. */
export class StatusFault extends Error {
  readonly status: number;

  constructor(status: number, location: string | undefined) {
    const host = location === undefined ? undefined : URL.parse(location)?.host;
    super(`it answered ${status}${host === undefined ? '' : ` to ${host}`}`);
    this.status = status;
  }
}

/** The session or its token is over, so that the statement was not carried out. */
export const isSessionOver = (failure: unknown): boolean =>
  failure instanceof ServerFault &&
  ['390104', '390111', '390112', '390113', '390114', '390115', '390195'].includes(failure.code);

/** The statement was not understood, so that it had no effect. Some take no parameters. */
export const isCompilation = (failure: unknown): boolean =>
  failure instanceof ServerFault && ['42', '0A'].includes(failure.sqlState?.slice(0, 2) ?? '');

/** The message of a failed statement, with the line that it is about. */
export function describeStatementFault(failure: unknown, sql: string, name: string, isQuery: boolean): Error {
  if (failure instanceof ServerFault) {
    const raised = readRaised(failure.message);
    if (raised !== undefined) return new Error(raised);
    const state = failure.sqlState === undefined ? '' : `, ${failure.sqlState}`;
    return new Error(`${failure.message} (${failure.code}${state})${findPlace(failure.message, sql)}`);
  }
  if (failure instanceof RefusedAnswer) return refuseAnswer(failure, name, isQuery);
  if (failure instanceof StatusFault && failure.status === 429)
    return new Error(
      `Snowflake refused the statement, because the account has too many requests (429): start the run again later, or run less at a time`,
    );
  if (failure instanceof StatusFault && failure.status >= 300 && failure.status < 400)
    return new Error(describeRedirect(failure, name));
  if (failure instanceof ExchangeError || failure instanceof StatusFault) {
    const { message } = lostDuring(name, isQuery);
    const text = `${message} (${failure.message})`;
    return isQuery ? new Error(text) : new OutcomeUnknown(text);
  }
  return failure instanceof Error ? failure : new Error(String(failure));
}

function refuseAnswer({ message, reason }: RefusedAnswer, name: string, isQuery: boolean): Error {
  const remedy =
    reason === 'form'
      ? 'which Snowflake does not send: check the account and the host'
      : 'which is more than the agent reads: select less, or keep the rows in the warehouse, as in CREATE TABLE … AS SELECT';
  const text = `the server of the connection "${name}" sent ${message}, ${remedy}`;
  if (isQuery) return new Error(text);
  return new OutcomeUnknown(`${text}. It is not known whether the statement took effect`);
}

const describeRedirect = ({ message }: StatusFault, name: string) =>
  `the server of the connection "${name}" redirects (${message}), which the agent does not follow: set "account", or "host", to where the account is`;

/** `Boolean value 'headgate: …' is not recognized` */
function readRaised(message: string): string | undefined {
  const from = message.indexOf(`'${raisedMark}`);
  return from < 0 ? undefined : message.slice(from + 1 + raisedMark.length, message.lastIndexOf("'"));
}

/** `error line 2 at position 2` */
function findPlace(message: string, sql: string): string {
  const [, line, position] = /\bline (\d{1,6}) at position (\d{1,6})/.exec(message) ?? [];
  if (line === undefined || position === undefined) return '';
  const before = sql.split('\n').slice(0, Number(line) - 1);
  if (before.length !== Number(line) - 1) return '';
  const start = before.reduce((sum, each) => sum + [...each].length + 1, 0);
  return renderPlace(sql, start + Number(position) + 1);
}

/** Why no session was opened. */
export function describeSignInFault(failure: unknown, access: SnowflakeAccess): Error {
  const { name, origin, credential, account } = access;
  const connection = `the connection "${name}"`;
  const words = getReason(failure);
  if (failure instanceof ServerFault) {
    const said = `${words} (${failure.code})`;
    if (failure.code === '390144' || failure.code === '390100' || /^3943\d\d$/.test(failure.code))
      return new Error(
        `Snowflake refused to sign in: ${said}. Set RSA_PUBLIC_KEY of the user to the public key of the secret "${credential.privateKey}", and check "account" (${account}), "${credential.username}" and the agent’s clock`,
      );
    if (['390186', '390189'].includes(failure.code))
      return new Error(
        `Snowflake refused to sign in: ${said}: correct "${credential.role}" of ${connection}`,
      );
    if (['390420', '390422', '390432'].includes(failure.code))
      return new Error(
        `Snowflake refused to sign in: ${said}: add the agent’s address to the account’s network policy`,
      );
    return new Error(`Snowflake refused to sign in: ${said}: check ${connection}`);
  }
  if (failure instanceof StatusFault && failure.status >= 300 && failure.status < 400)
    return new Error(describeRedirect(failure, name));
  if (failure instanceof StatusFault || failure instanceof RefusedAnswer) {
    const what = failure instanceof StatusFault ? words : `it sent ${words}`;
    return new Error(
      `the server ${origin.host} of ${connection} does not answer as Snowflake does (${what}): check "account" and "host"`,
    );
  }
  if (failure instanceof ExchangeError)
    return new Error(`${connection} to ${origin.host} failed: ${words}: check account, host and network`);
  return failure instanceof Error ? failure : new Error(words);
}
