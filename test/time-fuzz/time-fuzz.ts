/**
 * Sends hostile texts in every string of every operation, and measures how long the event loop of the server is held.
 * The responses are not judged: test/fuzz does that.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, startChild } from '../../bench/child.ts';
import { buildMultipart, multipartBoundary } from '../../packages/server/testing/project.ts';
import { type Described, operations } from '../fuzz/document.ts';
import { type Send, sender } from '../fuzz/sending.ts';
import type { Gap, OwnPlace, Question } from './server-process.ts';
import { harmlessText } from './shapes.ts';
import { listSlots, type Slot, type Template } from './slots.ts';

/** A slow machine may take minutes to load a server. */
const patience = { readyWithin: 120_000, endWithin: 30_000 };

/** One hostile text in one place. */
export interface Probe {
  operationId: string;
  slot: string;
  shape: string;
}

export interface Measured extends Probe {
  characters: number;
  status: number;
  /** From the first probe of the round. */
  sentAfter: number;
  /** From the request to its response, or to the end of the connection. */
  milliseconds: number;
  gap: Gap;
}

export interface TimeFuzzServer {
  port: number;
  pid: number;
  /** Creates a project with an account of its own. */
  createPlace(): Promise<OwnPlace>;
  takeGap(): Promise<Gap>;
  /** Holds the event loop for this processor time. */
  holdLoop(milliseconds: number): Promise<void>;
  /** Creates what follows in an account of its own. */
  startRound(): Promise<void>;
  template(operation: Described): Promise<Template>;
  stop(): Promise<void>;
}

export async function startTimeFuzzServer(settings: Record<string, string> = {}): Promise<TimeFuzzServer> {
  const child = await startChild(
    new URL('./server-process.ts', import.meta.url),
    { TIME_FUZZ_SETTINGS: JSON.stringify(settings) },
    patience,
  );
  const { port, pid } = child.first as { port: number; pid: number };
  return {
    port,
    pid,
    createPlace: async () => (await ask(child, { kind: 'place' })) as OwnPlace,
    takeGap: async () => (await ask(child, { kind: 'gap' })) as Gap,
    startRound: async () => void (await ask(child, { kind: 'round' })),
    template: async ({ id }) => (await ask(child, { kind: 'template', operationId: id })) as Template,
    holdLoop: async (milliseconds) => void (await ask(child, { kind: 'hold', milliseconds })),
    stop: () => child.stop(),
  };
}

async function ask(child: Child, question: Question): Promise<unknown> {
  const reply = (await child.ask(question)) as { value: unknown } | { failure: string };
  if ('failure' in reply) throw new Error(reply.failure);
  return reply.value;
}

export interface TimeFuzzOrder {
  /** Whether to send probes of this operation, by default of all: each needs a request that succeeds. */
  choosesOperation?: (number: number) => boolean;
  /** Whether to send this probe. Probes of chosen operations are numbered from 0. */
  chooses: (probe: Probe, number: number) => boolean;
  /** Called after each probe. */
  onMeasured: (measured: Measured) => void;
  /** Sends harmless texts of the same sizes, each this long after the first: the `sentAfter` of the hostile ones. */
  harmlessAfter?: readonly number[];
  /** No probe is sent after this is aborted. */
  signal?: AbortSignal;
}

/** Sends the chosen probes, one after the other. Returns how many there are in all. */
export async function fuzzTime(server: TimeFuzzServer, order: TimeFuzzOrder): Promise<number> {
  const { send, close } = sender(server.port);
  const write = createTextWriter();
  const { harmlessAfter } = order;
  let began: number | undefined;
  let number = 0;
  let sent = 0;
  try {
    await server.startRound();
    for (const [operationNumber, operation] of operations.entries()) {
      if (order.signal?.aborted) break;
      if (order.choosesOperation?.(operationNumber) === false) continue;
      let template = await server.template(operation);
      for (const slot of listSlots(operation, template)) {
        for (const shape of Object.keys(slot.shapes)) {
          const probe = { operationId: operation.id, slot: slot.name, shape };
          if (!order.chooses(probe, number++) || order.signal?.aborted) continue;
          const hostile = write(slot, shape);
          const text =
            harmlessAfter === undefined ? hostile : (slot.harmless ?? harmlessText)(hostile.length);
          const filled = slot.put(template, text);
          await server.takeGap();
          began ??= performance.now();
          const due = harmlessAfter?.[sent++];
          if (due !== undefined) await delay(began + due - performance.now());
          const sentAt = performance.now();
          const status = await sendTemplate(send, filled);
          const milliseconds = performance.now() - sentAt;
          const gap = await server.takeGap();
          const sentAfter = sentAt - began;
          order.onMeasured({ ...probe, characters: text.length, status, sentAfter, milliseconds, gap });
          // What the example works on may be gone.
          if (status < 300 && operation.method !== 'GET') template = await server.template(operation);
        }
      }
    }
    return number;
  } finally {
    close();
  }
}

/** Makes each long text once: this process would take the processor from the server. */
function createTextWriter(): (slot: Slot, shape: string) => string {
  const made = new Map<string, string>();
  return ({ shapes, most }, shape) => {
    const key = `${most} ${shape}`;
    const text = made.get(key) ?? shapes[shape]?.(most) ?? '';
    if (text.length > 100_000) made.set(key, text);
    return text;
  };
}

/** Returns the status, or 0 if the connection ended without a response: a server may refuse to read on. */
async function sendTemplate(
  send: Send,
  { method, url, headers, body, rawBody, parts }: Template,
): Promise<number> {
  const sent = { ...headers };
  let bytes = rawBody;
  if (parts !== undefined) {
    sent['content-type'] = `multipart/form-data; boundary=${multipartBoundary}`;
    bytes = buildMultipart(parts).toString();
  } else if (body !== undefined || bytes !== undefined) {
    sent['content-type'] ??= 'application/json';
    bytes ??= JSON.stringify(body);
  }
  try {
    const { status } = await send({ method, url, headers: sent, body: bytes });
    return status;
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ECONNREFUSED') throw failure;
    return 0;
  }
}
