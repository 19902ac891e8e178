/** Sends one request of an endpoint and shows what comes back. Secrets are masked in all of it. */
import type { ConnectorTestResult, WorkOf } from '@headgate/contract';
import { EgressRefused } from '@headgate/contract/egress';
import { connectorTestLimit } from '@headgate/contract/without-schemas';
import {
  type ConnectorEndpoint,
  type ConnectorStructure,
  describeProfileFinding,
  type EndpointValues,
  inferStructure,
  parseJson,
  readProfile,
  rowsOf,
  startPaging,
} from '@headgate/pipelines';
import { type AuthenticatedRequest, describeStatus, type FetchedPage } from '../connectors/endpoint-call.ts';
import { ExchangeError } from '../connectors/exchange.ts';
import { followSignals } from '../followed-signals.ts';
import { getReason } from '../log.ts';
import { Masking } from '../secrets/masking.ts';
import { type ConnectorDependencies, createConnectorUse } from './connector-options.ts';
import type { Handler } from './handler.ts';

/** Servers of earlier versions name no time. */
const defaultSeconds = 60;
const rowLimit = 20;
const textLimit = 8_192;
const problemLimit = 2_000;
const bodyLimit = 65_536;
/** For what stands beside the rows. */
const resultRoom = 20_000;

type Test = WorkOf<'connector-test'>['payload'];
type Mask = (text: string) => string;

export function createConnectorTestHandler(dependencies: ConnectorDependencies): Handler<'connector-test'> {
  return async (work, context) => {
    const { payload } = work;
    const endpoint = readEndpoint(payload);
    const masking = new Masking();
    const use = createConnectorUse(work, payload, context, dependencies, masking);
    await context.reportStarted();
    const opened = { endpoint, connection: payload.connection, values: readValues(payload) };
    const call = await dependencies.connectors.open(opened, { ...use, isTest: true });
    const began = performance.now();
    const measure = () => Math.round(performance.now() - began);
    const mask: Mask = (text) => masking.mask(text);
    const limit = limitTime(payload.timeoutSeconds ?? defaultSeconds, context.kill);
    try {
      const response = await call.send(startPaging(endpoint.paging, rowLimit).page, limit.signal);
      const result = describeResponse(response, endpoint, mask, use.conceal);
      return complete({ ...result, durationMs: measure() });
    } catch (error) {
      context.kill.throwIfAborted();
      // What the other end, or the way to it, makes impossible is what a test is to find.
      if (!(error instanceof ExchangeError || error instanceof EgressRefused)) throw error;
      const problem = use.conceal(getReason(error)).slice(0, problemLimit);
      const { httpMethod: method, url } = endpoint;
      return complete({
        headers: {},
        rows: [],
        request: { method, url, headers: {} },
        durationMs: measure(),
        problem,
      });
    } finally {
      limit.end();
      call.close();
    }
  };
}

/** Requests that fail are repeated, and servers ask for pauses: the caller waits for less. */
function limitTime(seconds: number, kill: AbortSignal): { signal: AbortSignal; end(): void } {
  const { controller, release } = followSignals([kill]);
  const late = new ExchangeError(
    `the test was not complete after ${seconds} s: the server does not answer, or asks for a pause`,
  );
  const timer = setTimeout(() => controller.abort(late), seconds * 1_000);
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      release();
    },
  };
}

const complete = (result: ConnectorTestResult) =>
  ({ status: 'SUCCESS', connectorTest: JSON.stringify(shrink(result)) }) as const;

function readEndpoint({ profileName, endpoint }: Test): ConnectorEndpoint {
  const { profile, findings } = readProfile({ name: profileName, endpoints: [endpoint] });
  const [read] = profile?.endpoints ?? [];
  if (read !== undefined) return read;
  throw new Error(
    `the endpoint cannot be used: ${findings.slice(0, 3).map(describeProfileFinding).join('; ')}`,
  );
}

function readValues({ parameters }: Test): EndpointValues {
  const { headerParameters = {}, queryParameters = {}, uriParameters = {}, body } = parameters;
  return {
    headers: Object.entries(headerParameters),
    query: Object.entries(queryParameters),
    uri: Object.entries(uriParameters),
    ...(body === undefined ? {} : { body }),
  };
}

function describeResponse(
  response: FetchedPage & { sent: AuthenticatedRequest },
  endpoint: ConnectorEndpoint,
  mask: Mask,
  conceal: Mask,
): Omit<ConnectorTestResult, 'durationMs'> {
  const { sent, status, headers } = response;
  const cut = (text: string) => mask(text).slice(0, textLimit);
  const body = sent.body === undefined ? {} : { body: mask(sent.body).slice(0, bodyLimit) };
  const request = {
    method: sent.method,
    url: mask(sent.url).slice(0, 16_384),
    headers: Object.fromEntries(sent.headers.map(([name, value]) => [name, cut(value)])),
    ...body,
  };
  const shown = Object.entries(headers).slice(0, 200);
  const frame = {
    status,
    headers: Object.fromEntries(shown.map(([name, value]) => [name, cut(value)])),
    request,
  };
  const read = readRows(response, endpoint.structure, conceal);
  const problem = isSuccess(status) ? read.problem : describeStatus(sent, response, conceal);
  return {
    ...frame,
    rows: read.rows.slice(0, rowLimit).map((row) => maskJson(row, mask)),
    ...(read.structure === undefined
      ? {}
      : { structure: maskJson({ ...read.structure }, mask) as Record<string, unknown> }),
    ...(problem === undefined ? {} : { problem: mask(problem).slice(0, problemLimit) }),
  };
}

const isSuccess = (status: number) => status >= 200 && status < 300;

function readRows(
  { text, headers }: FetchedPage,
  structure: ConnectorStructure,
  conceal: Mask,
): { rows: unknown[]; structure?: ConnectorStructure; problem?: string } {
  if (text.trim() === '') return { rows: [] };
  let page: unknown;
  try {
    page = parseJson(text);
  } catch {
    const kind = headers['content-type'] ?? 'no content type';
    return {
      rows: [],
      problem: `the response is not JSON (${kind}); it begins with: ${conceal(text).slice(0, 200)}`,
    };
  }
  const inferred = inferStructure([page]);
  const hasOwn = structure.schema !== undefined || structure.repeatingElementPath.length > 0;
  try {
    return { rows: rowsOf(page, hasOwn ? structure : inferred), structure: inferred };
  } catch (error) {
    return { rows: [], structure: inferred, problem: getReason(error) };
  }
}

/** Masks each text of a value, and each number that is a secret. */
function maskJson(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') return mask(value);
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) {
    const written = JSON.stringify(value);
    return written === undefined || mask(written) === written ? value : '***';
  }
  if (Array.isArray(value)) return value.map((each) => maskJson(each, mask));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [mask(name), maskJson(each, mask)]));
}

/** Leaves rows out until the result is small enough for the report. */
function shrink(result: ConnectorTestResult): ConnectorTestResult {
  const isSmall = (candidate: ConnectorTestResult) =>
    JSON.stringify(candidate).length <= connectorTestLimit - resultRoom;
  if (isSmall(result)) return result;
  const { structure, ...rest } = result;
  for (let rows = result.rows.slice(0, -1); ; rows = rows.slice(0, -1)) {
    const shorter = { ...result, rows, truncated: true };
    if (isSmall(shorter)) return shorter;
    if (rows.length === 0) return { ...rest, rows, headers: {}, truncated: true };
  }
}
