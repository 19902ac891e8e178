/**
 * The relay in a thread of its own (docs/adr/0074). Packs that pass fill a heap with buffers; in the server's
 * heap, their removal would stop all requests again and again.
 *
 * The thread starts with the first remote, and again if it has ended. The egress guard stays here.
 */
import { Worker } from 'node:worker_threads';
import { problem } from '../../kernel/http/problems.ts';
import type { Log } from '../../kernel/log.ts';
import { type EgressGuard, EgressRefused, EgressUnresolved } from '../../kernel/security/egress.ts';
import { showCredential } from './credential.ts';
import type { Checked, RelayReport, RelayRequest, RelayThreadOptions } from './relay-messages.ts';
import type { OpenedRemote, RemoteFailure, Remotes } from './remote.ts';

export interface RelayThreadRules extends RelayThreadOptions {
  guard: EgressGuard;
  log: Log;
}

interface Thread {
  worker: Worker;
  /** Sends a question, and resolves with the report that answers it, or undefined if the thread ends. */
  ask(build: (id: number) => RelayRequest): Promise<RelayReport | undefined>;
  tell(request: RelayRequest): void;
  /** By the address of the remote. */
  onBytes: Map<string, (bytes: number) => void>;
}

/** Of its own heap; what passes is outside of it, and is bounded by the buffers of its connections. */
const mostMegabytes = 128;
const interrupted: RemoteFailure = {
  kind: 'unreachable',
  reason: 'The connections of this server to other Git hosts were interrupted. Try again.',
};

export function createRelayThread(rules: RelayThreadRules): Pick<Remotes, 'openRemote' | 'close'> {
  let thread: Thread | undefined;

  function getThread(): Thread {
    if (thread !== undefined) return thread;
    const started = startThread(rules);
    thread = started;
    started.worker.once('exit', () => {
      if (thread === started) thread = undefined;
    });
    return started;
  }

  return {
    async openRemote({ credential, onBytes, ...options }) {
      const { ask, tell, onBytes: listeners } = getThread();
      const shown = credential && showCredential(credential);
      const order = { url: options.url, direction: options.direction, limits: options.limits ?? {} };
      const opened = await ask((id) => ({ kind: 'open', id, order: { ...order, credential: shown } }));
      if (opened?.kind !== 'opened')
        throw problem('git-failed', { command: 'remote', words: describeStart(opened) });
      const { url, environment } = opened;
      if (onBytes !== undefined) listeners.set(url, onBytes);
      const remote: OpenedRemote = {
        url,
        environment,
        async readFailure() {
          const answer = await ask((id) => ({ kind: 'failure', id, url }));
          return answer?.kind === 'failure' ? answer.failure : interrupted;
        },
        close() {
          listeners.delete(url);
          tell({ kind: 'close', url });
        },
      };
      return remote;
    },
    async close() {
      await thread?.worker.terminate();
    },
  };
}

const describeStart = (report: RelayReport | undefined) =>
  `the relay of git did not start: ${report?.kind === 'failed' ? report.reason : 'its thread has ended'}`;

function startThread({ guard, log, ...workerData }: RelayThreadRules): Thread {
  const worker = new Worker(new URL('./relay.thread.ts', import.meta.url), {
    workerData: workerData satisfies RelayThreadOptions,
    // That of the server may have its master key.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: mostMegabytes, maxYoungGenerationSizeMb: 16 },
  });
  const requests = new Map<number, (report: RelayReport | undefined) => void>();
  const onBytes: Thread['onBytes'] = new Map();
  let questions = 0;
  let hasEnded = false;
  const tell = (request: RelayRequest) => worker.postMessage(request);
  // Only an open question keeps the process alive.
  worker.unref();
  worker.on('message', (report: RelayReport) => {
    if (report.kind === 'bytes') onBytes.get(report.url)?.(report.bytes);
    else if (report.kind === 'check')
      void checkAddress(guard, report.address).then((checked) =>
        tell({ kind: 'checked', id: report.id, checked }),
      );
    else requests.get(report.id)?.(report);
  });
  // It ends then, and the next remote starts another one.
  worker.on('error', (failure) => log.error({ err: failure }, 'the relay of git has failed'));
  worker.once('exit', () => {
    hasEnded = true;
    for (const answer of requests.values()) answer(undefined);
  });
  return {
    worker,
    onBytes,
    tell,
    async ask(build) {
      if (hasEnded) return undefined;
      questions += 1;
      const id = questions;
      const answer = Promise.withResolvers<RelayReport | undefined>();
      requests.set(id, answer.resolve);
      worker.ref();
      tell(build(id));
      try {
        return await answer.promise;
      } finally {
        requests.delete(id);
        if (requests.size === 0) worker.unref();
      }
    },
  };
}

async function checkAddress(guard: EgressGuard, address: string): Promise<Checked> {
  try {
    const { addresses } = await guard.check(address);
    return { addresses };
  } catch (failure) {
    const refused = failure instanceof EgressRefused ? failure.message : 'The address could not be checked.';
    return { refused, isUnresolved: failure instanceof EgressUnresolved };
  }
}
