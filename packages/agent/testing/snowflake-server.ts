/**
 * A fake Snowflake: the requests of its drivers over HTTP, with what the original refuses. It runs the SQL on DuckDB.
 * Names and codes are those that public drivers expect.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { FakeCopies, presentCopied } from './snowflake-copies.ts';
import { showGrants, showRoles } from './snowflake-grants.ts';
import { FakeSchemas } from './snowflake-schemas.ts';
import { FakeFault, type FakeResult, FakeStatements, giveText } from './snowflake-statements.ts';
import { type FakeUser, findTokenFault } from './snowflake-users.ts';

export interface FakeSession {
  id: string;
  user: string;
  role: string;
  token: string;
  masterToken: string;
  statements: FakeStatements;
  tag: string;
  /** The default one. */
  schema: string | null;
  useSchema(name: string): Promise<unknown>;
  interrupt(): void;
  /** Texts of all statements, as the history shows them. */
  history: string[];
  /** The rows of each statement that COPY answered, for RESULT_SCAN. */
  results: Record<string, unknown>[][];
  isTokenOld: boolean;
}

interface FakeQuery {
  id: string;
  requestId: string;
  session: FakeSession;
  done: Promise<object>;
  cancel(): void;
}

export interface FakeRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
}

export interface FakeSnowflake {
  port: number;
  users: Map<string, FakeUser>;
  sessions: Map<string, FakeSession>;
  requests: FakeRequest[];
  schemas: FakeSchemas;
  copies: FakeCopies;
  /** Rows in the first answer. The others are in parts of as many. */
  rowsOfPart: number;
  /** Until a statement answers that it runs. */
  holdMilliseconds: number;
  /** The server's clock is ahead. */
  skewMilliseconds: number;
  /** Answers instead of the server; undefined: the server answers. */
  intercept: ((request: FakeRequest, response: ServerResponse) => boolean | undefined) | undefined;
  /** Runs SQL of DuckDB in the schema of the connection. */
  prepare(sql: string): Promise<unknown>;
  close(): Promise<void>;
}

const account = 'TESTORG-SHOP';
export const fakePlace = { account, warehouse: 'WORK', database: 'SHOP', schema: 'WH' } as const;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const bindTypes = new Set(
  'FIXED REAL TEXT BOOLEAN DATE TIME TIMESTAMP_NTZ TIMESTAMP_LTZ TIMESTAMP_TZ BINARY'.split(' '),
);
const fault = (code: string, message: string, sqlState?: string) => ({
  data: { internalError: false, errorCode: code, ...(sqlState === undefined ? {} : { sqlState }) },
  code,
  message,
  success: false,
});
const success = (data: object, code: string | null = null) => ({ data, code, message: null, success: true });

export async function createFakeSnowflake(): Promise<FakeSnowflake> {
  const instance = await DuckDBInstance.create();
  const setup = await instance.connect();
  await setup.run(`create schema "${fakePlace.schema}"; set schema = '${fakePlace.schema}'`);
  const queries = new Map<string, FakeQuery>();
  const parts = new Map<string, { rows: FakeResult['rows']; key: string }>();
  let sessionCount = 34_534_533_453_453_000n;

  const server = createServer((request, response) => {
    void answer(request, response).catch((error) => {
      response.statusCode = 500;
      response.end(String(error));
    });
  });
  const fake: FakeSnowflake = {
    port: 0,
    users: new Map(),
    sessions: new Map(),
    requests: [],
    schemas: new FakeSchemas((sql) => setup.run(sql)),
    copies: new FakeCopies(),
    rowsOfPart: 1_000,
    holdMilliseconds: 45_000,
    skewMilliseconds: 0,
    intercept: undefined,
    prepare: async (sql) => (sql.startsWith('set role') ? undefined : setup.run(sql)),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      for (const each of queries.values()) each.cancel();
      await Promise.allSettled([...queries.values()].map(({ done }) => done));
      for (const { statements } of fake.sessions.values()) await statements.close();
      setup.closeSync();
      instance.closeSync();
    },
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  fake.port = (server.address() as AddressInfo).port;
  return fake;

  async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(message.url ?? '/', 'http://fake');
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const request = {
      method: message.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: message.headers,
      body: text === '' ? {} : JSON.parse(text),
    };
    fake.requests.push(request);
    response.setHeader('date', new Date(Date.now() + fake.skewMilliseconds).toUTCString());
    if (fake.intercept?.(request, response) === true) return;
    if (url.pathname.startsWith('/parts/')) {
      sendPart(request, response);
      return;
    }
    // The number of a session has more digits than a double.
    const body = JSON.stringify(await route(request)).replace(/"#(\d+)"/, '$1');
    response.setHeader('content-type', 'application/json');
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(body));
  }

  function sendPart({ path, headers }: FakeRequest, response: ServerResponse): void {
    const part = parts.get(path);
    // The parts are in the storage of a cloud, which knows nothing of sessions.
    if (
      part === undefined ||
      headers['x-amz-server-side-encryption-customer-key'] !== part.key ||
      headers.authorization !== undefined
    ) {
      response.statusCode = 403;
      response.end('<Error><Code>AccessDenied</Code></Error>');
      return;
    }
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(part.rows.map((row) => JSON.stringify(row)).join(', ')));
  }

  async function route(request: FakeRequest): Promise<object> {
    const { method, path } = request;
    if (!uuid.test(request.query.get('request_guid') ?? ''))
      return fault('390400', 'request_guid is missing');
    if (method === 'POST' && path === '/session/v1/login-request') return signIn(request);
    const token = /^Snowflake Token="(.*)"$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (method === 'POST' && path === '/session/token-request') return renew(request, token);
    const session = [...fake.sessions.values()].find((each) => each.token === token);
    if (session === undefined)
      return fault('390111', 'Session no longer exists.  New login required to access the service.', '08001');
    if (session.isTokenOld) return fault('390112', 'Your session has expired. Please login again.', '08001');
    if (method === 'GET') {
      const id = /^\/queries\/([\w-]+)\/result$/.exec(path)?.[1] ?? '';
      const query = queries.get(id);
      return query === undefined ? fault('000709', `Statement ${id} not found`, '02000') : hold(query);
    }
    if (path === '/queries/v1/query-request') return submit(request, session);
    if (path === '/queries/v1/abort-request') return abort(request, session);
    if (path === '/session/heartbeat') return success({});
    if (path === '/session' && request.query.get('delete') === 'true') {
      await endSession(session);
      return success({});
    }
    return fault('390404', `no such request: ${path}`);
  }

  async function signIn({ body, query }: FakeRequest): Promise<object> {
    const data = (body as { data: Record<string, unknown> }).data;
    const name = String(data.LOGIN_NAME).toUpperCase();
    const user = fake.users.get(name);
    const now = Math.floor((Date.now() + fake.skewMilliseconds) / 1_000);
    const wrong =
      data.ACCOUNT_NAME !== account || data.AUTHENTICATOR !== 'SNOWFLAKE_JWT'
        ? 'another account'
        : findTokenFault(data.TOKEN, { account, name, user }, now);
    if (wrong !== undefined || user === undefined)
      return fault('390144', `JWT token is invalid. [${randomUUID()}]`, '08001');
    const role = query.get('roleName') ?? user.defaultRole;
    if (user.roles[role] === undefined)
      return fault(
        '390189',
        `Role '${role}' specified in the connect string does not exist or not authorized. Contact your local system administrator, or attempt to login with another role, e.g. PUBLIC.`,
        '08001',
      );
    const find = (asked: string | null, known: string) => (asked === known ? known : null);
    const place = {
      databaseName: find(query.get('databaseName'), fakePlace.database),
      schemaName: find(query.get('schemaName'), fakePlace.schema),
      warehouseName: find(query.get('warehouse'), fakePlace.warehouse),
      roleName: role,
    };
    const connection = await instance.connect();
    if (place.schemaName !== null) await connection.run(`set schema = '${place.schemaName}'`);
    // Our translation of the information schema reads it.
    await connection.run('create temp table "headgate row counts" (a varchar, b varchar, c bigint)');
    sessionCount += 1n;
    const parameters = (data.SESSION_PARAMETERS ?? {}) as Record<string, unknown>;
    const session: FakeSession = {
      id: String(sessionCount),
      user: name,
      role,
      token: randomBytes(40).toString('base64'),
      masterToken: randomBytes(40).toString('base64'),
      statements: new FakeStatements(connection),
      tag: String(parameters.QUERY_TAG ?? ''),
      schema: place.schemaName,
      useSchema: (schema) => connection.run(`set schema = '${schema}'`),
      interrupt: () => connection.interrupt(),
      history: [],
      results: [],
      isTokenOld: false,
    };
    fake.sessions.set(session.id, session);
    return success({
      token: session.token,
      masterToken: session.masterToken,
      validityInSeconds: 3_600,
      masterValidityInSeconds: 14_400,
      displayUserName: name,
      serverVersion: '9.31.2',
      sessionId: `#${session.id}`,
      parameters: [{ name: 'TIMEZONE', value: parameters.TIMEZONE }],
      sessionInfo: place,
    });
  }

  async function renew({ body }: FakeRequest, token: string): Promise<object> {
    const session = [...fake.sessions.values()].find((each) => each.masterToken === token);
    if (session === undefined || body.oldSessionToken !== session.token || body.requestType !== 'RENEW')
      return fault('390114', 'Authentication token has expired.  The user must authenticate again.', '08001');
    session.token = randomBytes(40).toString('base64');
    session.isTokenOld = false;
    return success({ sessionToken: session.token, masterToken: token, sessionId: 0 });
  }

  function findBindFault(bindings: Record<string, { type?: unknown; value?: unknown }>): string | undefined {
    const wrong = Object.entries(bindings).find(
      ([key, { type, value }]) =>
        !/^\d+$/.test(key) || !bindTypes.has(String(type)) || (value !== null && typeof value !== 'string'),
    );
    return wrong === undefined ? undefined : `Binding data in type (${wrong[1].type}) is not supported.`;
  }

  function submit({ body, query, headers }: FakeRequest, session: FakeSession): Promise<object> | object {
    const requestId = query.get('requestId') ?? '';
    const { sqlText, bindings = {} } = body as { sqlText?: unknown; bindings?: Record<string, object> };
    if (!uuid.test(requestId)) return fault('390400', 'requestId is not a UUID');
    if (headers.accept !== 'application/snowflake') return fault('390406', 'accept application/snowflake');
    if (typeof sqlText !== 'string') return fault('000900', 'Empty SQL statement.', '42601');
    const known = [...queries.values()].find((each) => each.requestId === requestId);
    if (known !== undefined) return hold(known);
    const wrong = findBindFault(bindings as Record<string, { type?: unknown }>);
    if (wrong !== undefined) return fault('002041', wrong, '42601');
    const id = `01b${randomUUID().slice(3)}`;
    session.history.push(sqlText);
    const waiting = Promise.withResolvers<never>();
    const cancel = () => {
      session.interrupt();
      waiting.reject(new FakeFault('000604', '57014', 'SQL execution canceled'));
    };
    waiting.promise.catch(() => undefined);
    const run = runStatement(sqlText, bindings as Record<string, { value: unknown }>, session);
    run.catch(() => undefined);
    const done = Promise.race([run, waiting.promise]).then(
      (result) => present(result, id),
      (error: unknown) => {
        const { code, sqlState, message } =
          error instanceof FakeFault ? error : new FakeFault('000603', 'XX000', String(error));
        return fault(code, message, sqlState);
      },
    );
    const one = { id, requestId, session, done, cancel };
    queries.set(id, one);
    void done.then(() => {
      one.cancel = () => undefined;
    });
    return hold(one);
  }

  /** The answer, or that the statement runs. */
  function hold({ id, done }: FakeQuery): Promise<object> {
    const late = Promise.withResolvers<object>();
    const timer = setTimeout(
      () =>
        late.resolve(
          success({ queryId: id, getResultUrl: `/queries/${id}/result`, progressDesc: null }, '333333'),
        ),
      fake.holdMilliseconds,
    );
    return Promise.race([done, late.promise]).finally(() => clearTimeout(timer));
  }

  function abort({ body }: FakeRequest, session: FakeSession): object {
    const query = [...queries.values()].find((each) => each.requestId === body.requestId);
    if (query === undefined || query.session !== session)
      return fault('000605', 'Identified SQL statement is not currently executing.', '02000');
    query.cancel();
    return success({});
  }

  async function endSession(session: FakeSession): Promise<void> {
    fake.sessions.delete(session.id);
    const own = [...queries.values()].filter((each) => each.session === session);
    for (const query of own) query.cancel();
    await Promise.allSettled(own.map(({ done }) => done));
    await session.statements.close();
  }

  function present({ columns, rows, statementTypeId }: FakeResult, id: string): object {
    const key = randomBytes(16).toString('base64');
    const chunks = [];
    for (let from = fake.rowsOfPart; from < rows.length; from += fake.rowsOfPart) {
      const path = `/parts/${randomUUID()}`;
      const own = rows.slice(from, from + fake.rowsOfPart);
      parts.set(path, { rows: own, key });
      chunks.push({ url: `http://127.0.0.1:${fake.port}${path}?X-Amz-Signature=abc`, rowCount: own.length });
    }
    return success({
      rowtype: columns.map((column) => ({ nullable: true, length: null, scale: null, ...column })),
      rowset: rows.slice(0, fake.rowsOfPart),
      total: rows.length,
      returned: rows.length,
      queryId: id,
      statementTypeId,
      queryResultFormat: 'json',
      ...(chunks.length === 0 ? {} : { chunks, qrmk: key }),
    });
  }

  async function runStatement(
    sql: string,
    bindings: Record<string, { value: unknown }>,
    session: FakeSession,
  ): Promise<FakeResult> {
    const text = sql.replace(/^\s*(?:\/\*.*?\*\/\s*)+/s, '');
    const [, seconds] = /^(?:select|call) system\$wait\((\d+)\)/i.exec(text) ?? [];
    if (seconds !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1_000).unref());
      return giveText('SYSTEM$WAIT', `waited ${seconds} seconds`);
    }
    const [, role] = /^show grants to role "(.*)"$/i.exec(text) ?? [];
    if (role !== undefined) {
      const name = role.replaceAll('""', '"');
      return showGrants(
        name,
        fake.users.get(session.user),
        fake.schemas.listGrants(name, fakePlace.database),
      );
    }
    const [, grantee] = /^show grants to user "(.*)"$/i.exec(text) ?? [];
    if (grantee !== undefined) return showRoles(grantee, session.user, fake.users);
    const schemaUser = { ...session, user: fake.users.get(session.user) };
    const used = await fake.schemas.run(text, schemaUser);
    if (used?.schema !== undefined) {
      session.schema = used.schema;
      await session.useSchema(used.schema);
    }
    if (used !== undefined) return giveText('status', 'Statement executed successfully.', 0x4000);
    fake.schemas.requireWrite(text, schemaUser);
    const scanned = FakeCopies.writeResult(sql, session.results);
    const copied = fake.copies.run(text);
    session.results.push(copied ?? []);
    if (copied !== undefined) return presentCopied(copied);
    if (/^(?:use|alter session|unset)\b/i.test(text))
      return giveText('status', 'Statement executed successfully.', 0x4000);
    const [, history, tag = ''] =
      /QUERY_HISTORY_BY_SESSION\(SESSION_ID => (\d+)\)\) WHERE .*query_tag = '(.*)'$/.exec(text) ?? [];
    if (history !== undefined) {
      const other = fake.sessions.get(history);
      const isOwn = other?.user === session.user && other.tag === tag;
      return { ...giveText('COUNT(*)', String(isOwn ? other.history.length : 0)) };
    }
    const [, word, id = ''] = /^SELECT SYSTEM\$(CANCEL_ALL_QUERIES|ABORT_SESSION)\((\d+)\)$/.exec(text) ?? [];
    if (word !== undefined) {
      const other = fake.sessions.get(id);
      if (other?.user !== session.user) throw new FakeFault('000606', '02000', `Session ${id} not found`);
      if (word === 'ABORT_SESSION') await endSession(other);
      return giveText(word, 'done');
    }
    return session.statements.run(scanned, bindings);
  }
}
