/** The thread of the relay: what passes between git and other hosts is kept out of the server's own heap. */
import { parentPort, workerData } from 'node:worker_threads';
import { EgressRefused, EgressUnresolved } from '../../kernel/security/egress.ts';
import { lowerPriority } from '../../kernel/threads/thread-priority.ts';
import { createRelay, type RelayedRemote } from './relay.ts';
import type {
  Checked,
  RelayReport,
  RelayRequest,
  RelayThreadOptions,
  RemoteOrder,
} from './relay-messages.ts';

/** Progress is shown, and written, less often. */
const bytesMilliseconds = 200;

const { trustedOrigins, ca } = workerData as RelayThreadOptions;
lowerPriority();

const report = (message: RelayReport) => parentPort?.postMessage(message);
const remotes = new Map<string, RelayedRemote & { reportBytes(): void }>();
const checks = new Map<number, PromiseWithResolvers<Checked>>();
let questions = 0;

const relay = createRelay({ guard: { check: checkAddress }, trustedOrigins: new Set(trustedOrigins), ca });

/** The guard is asked in the server. */
async function checkAddress(address: string) {
  questions += 1;
  const id = questions;
  const answer = Promise.withResolvers<Checked>();
  checks.set(id, answer);
  report({ kind: 'check', id, address });
  const checked = await answer.promise.finally(() => checks.delete(id));
  if ('addresses' in checked) return checked;
  throw checked.isUnresolved ? new EgressUnresolved(checked.refused) : new EgressRefused(checked.refused);
}

async function open(id: number, order: RemoteOrder): Promise<void> {
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const opened = await relay.openRemote({
    ...order,
    onBytes(more) {
      bytes += more;
      timer ??= setTimeout(reportBytes, bytesMilliseconds);
    },
  });
  const { url, environment } = opened;
  function reportBytes(): void {
    clearTimeout(timer);
    timer = undefined;
    if (bytes > 0) report({ kind: 'bytes', url, bytes });
    bytes = 0;
  }
  remotes.set(url, { ...opened, reportBytes });
  report({ kind: 'opened', id, url, environment });
}

function reportFailure(id: number, url: string): void {
  const remote = remotes.get(url);
  remote?.reportBytes();
  report({ kind: 'failure', id, failure: remote?.failure() });
}

parentPort?.on('message', (request: RelayRequest) => {
  if (request.kind === 'open')
    open(request.id, request.order).catch((failure: unknown) =>
      report({ kind: 'failed', id: request.id, reason: String(failure) }),
    );
  else if (request.kind === 'checked') checks.get(request.id)?.resolve(request.checked);
  else if (request.kind === 'failure') reportFailure(request.id, request.url);
  else {
    remotes.get(request.url)?.close();
    remotes.delete(request.url);
  }
});
