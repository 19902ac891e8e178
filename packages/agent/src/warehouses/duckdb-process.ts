/**
 * The entry point of a DuckDB database's process, started by `duckdb-database.ts`. A crash or a memory leak
 * ends this process and not the agent. It exits on request, or when the agent is gone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { getReason } from '../log.ts';
import { checkHealth, openConfined } from './duckdb-confinement.ts';
import { explainError } from './duckdb-errors.ts';
import { createCatalogWatch, type KnownCatalog } from './duckdb-known-catalog.ts';
import type {
  DatabaseMessage,
  DatabaseRequest,
  DatabaseSettings,
  ScratchRequest,
} from './duckdb-messages.ts';
import { createReadGuard, type ReadGuard } from './duckdb-read-guard.ts';
import { readOnly } from './duckdb-reading.ts';
import { execute, query, type StatementRules } from './duckdb-statement.ts';
import { openScratch } from './scratch/duckdb-scratch.ts';
import { readBuiltInFunctions } from './statements/duckdb-functions.ts';
import { quoteName } from './statements/duckdb-names.ts';

/** How long to wait until the process of a killed agent releases the file. */
const openTimeoutMilliseconds = 60_000;
const endTimeoutMilliseconds = 5_000;

/** Statements of one connection run one at a time. `closed`: waiting statements are refused. */
interface Session {
  connection: DuckDBConnection;
  turn: Promise<unknown>;
  closed: boolean;
  rules: StatementRules;
  /** A scratch database is there, or a part of it. */
  hasScratch: boolean;
  /** The ids of the statements that wait or run, and of those among them that have to end. */
  open: Set<number>;
  interrupted: Set<number>;
  running: number | undefined;
}

/** By the number of the connection; some are being opened. */
const sessions = new Map<number, Promise<Session>>();
let instance: DuckDBInstance | undefined;
let memory = { memoryMegabytes: 0, processMegabytes: 0 };
let rules: Omit<StatementRules, 'catalog'> | undefined;
let watchCatalog: (() => KnownCatalog) | undefined;
let guard: ReadGuard | undefined;

function send(message: DatabaseMessage): void {
  if (process.connected) process.send?.(message);
}

async function start(settings: DatabaseSettings): Promise<void> {
  memory = settings;
  guard = createReadGuard(settings);
  const deadline = performance.now() + openTimeoutMilliseconds;
  for (;;) {
    try {
      instance = await openConfined(settings);
      rules = await readRules(instance, settings);
      watchCatalog = createCatalogWatch(rules.functions);
      return send({ type: 'ready' });
    } catch (error) {
      const held = /lock/i.test(getReason(error));
      if (!held || performance.now() > deadline) return send({ type: 'failed', message: getReason(error) });
      await sleep(100);
    }
  }
}

async function readRules(
  opened: DuckDBInstance,
  { filesFolder }: DatabaseSettings,
): Promise<Omit<StatementRules, 'catalog'>> {
  const connection = await opened.connect();
  const functions = await readBuiltInFunctions(connection);
  connection.closeSync();
  return { functions, filesFolder };
}

async function answer(
  request: Exclude<DatabaseRequest, { type: 'start' | 'end' | 'interrupt' | 'leave' }>,
): Promise<unknown> {
  if (request.type === 'close') return close(request.connection);
  const session = await getSession(request.connection);
  if (request.type === 'open') return checkHealth(session.connection);
  if (request.type === 'enter-scratch') return enterScratch(request.connection, session, request.scratch);
  const { id } = request;
  session.open.add(id);
  const mine: Promise<unknown> = session.turn.then(async (): Promise<unknown> => {
    if (session.closed) throw new Error('this connection to the warehouse is closed');
    if (session.interrupted.has(id)) throw new Error('the statement was interrupted before it began');
    session.running = id;
    const { connection, rules } = session;
    if (request.type === 'execute') return execute(connection, request.sql, rules);
    if (request.type === 'read') {
      const read = () => readOnly(connection, request.sql, rules, request.bounds);
      return guard?.run(connection, read);
    }
    return JSON.stringify(await query(connection, request.sql, rules, request.maxRows));
  });
  session.turn = mine
    .catch(() => undefined)
    .then(() => {
      session.running = undefined;
      session.open.delete(id);
      session.interrupted.delete(id);
    });
  return mine;
}

/** Interrupts repeatedly, because DuckDB ignores an interrupt between two parts of a statement. */
async function interrupt(id: number, statement: number): Promise<void> {
  const session = await sessions.get(id)?.catch(() => undefined);
  if (!session?.open.has(statement)) return;
  session.interrupted.add(statement);
  const repeating = setInterval(interruptOnce, 50);
  function interruptOnce(): void {
    if (!session?.open.has(statement)) clearInterval(repeating);
    else if (session.running === statement) session.connection.interrupt();
  }
  interruptOnce();
}

/** Messages of a connection that is being opened wait here, and go on in their order. */
function getSession(id: number): Promise<Session> {
  const opened = sessions.get(id) ?? open();
  sessions.set(id, opened);
  // The next message tries again.
  opened.catch(() => sessions.delete(id));
  return opened;
}

async function open(): Promise<Session> {
  if (!instance || !rules || !watchCatalog) throw new Error('the warehouse is not open');
  const own = { ...rules, catalog: watchCatalog() };
  const connection = await instance.connect();
  const empty = { turn: Promise.resolve(), open: new Set<number>(), interrupted: new Set<number>() };
  return { connection, ...empty, closed: false, rules: own, running: undefined, hasScratch: false };
}

/** If it fails, the session must be closed. */
async function enterScratch(id: number, session: Session, expected: ScratchRequest): Promise<void> {
  session.hasScratch = true;
  const entering = openScratch(session.connection, { name: nameScratch(id), ...expected });
  session.turn = entering.catch(() => undefined);
  session.rules = { ...session.rules, scratch: await entering };
}

/** Connections are numbered, so the name is unique in this process, which is how long the database lives. */
const nameScratch = (id: number) => `headgate_test_${id}`;

async function dropScratch(name: string): Promise<void> {
  const connection = await instance?.connect();
  await connection?.run(`detach database if exists ${quoteName(name)}`);
  connection?.closeSync();
}

/** Interrupts repeatedly, because DuckDB ignores an interrupt between two statements. */
async function close(id: number): Promise<void> {
  const session = await sessions.get(id)?.catch(() => undefined);
  if (session === undefined) return;
  session.closed = true;
  const interrupting = setInterval(() => session.connection.interrupt(), 50);
  session.connection.interrupt();
  await session.turn;
  clearInterval(interrupting);
  session.connection.closeSync();
  sessions.delete(id);
  if (session.hasScratch) await dropScratch(nameScratch(id));
}

async function end(): Promise<void> {
  // A statement that ignores the interrupt must not keep the process alive.
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), endTimeoutMilliseconds).unref();
  await Promise.all([...sessions.keys()].map(close));
  instance?.closeSync();
  process.exit(0);
}

process.on('disconnect', () => void end());
process.on('message', (request: DatabaseRequest) => {
  if (request.type === 'start') return void start(request.settings);
  if (request.type === 'end') return void end();
  if (request.type === 'interrupt') return void interrupt(request.connection, request.statement);
  if (request.type === 'leave') return void close(request.connection);
  answer(request).then(
    (value) => send({ type: 'answer', id: request.id, value }),
    (error: unknown) => {
      const sql = 'sql' in request ? request.sql : '';
      send({ type: 'refusal', id: request.id, message: explainError(error, memory, sql) });
    },
  );
});
