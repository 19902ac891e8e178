/** A session of the relay: one remote, its bounds, what passed, and what went wrong first. */
import { trimEnd } from '@headgate/pipelines';
import type { RemoteFailure, RemoteOptions, ShownCredential } from './remote.ts';

export interface RelayedRequest {
  method: 'GET' | 'POST';
  /** Below the address of the repository, with its query. */
  path: string;
  answerType: string;
}

/** A remote to open, as the relay needs it. */
export type RelayedOptions = Omit<RemoteOptions, 'credential'> & { credential: ShownCredential | undefined };

export interface Session {
  /** Without a slash at the end. */
  base: string;
  host: string;
  direction: 'read' | 'write';
  credential: ShownCredential | undefined;
  tokenDigest: Buffer;
  /** Aborted when the session is closed, for a limit too. */
  signal: AbortSignal;
  failure: RemoteFailure | undefined;
  count(direction: 'received' | 'sent', bytes: number): void;
  /** Keeps the first failure: those that follow are its consequences. */
  fail(failure: RemoteFailure): void;
  close(): void;
}

const mebibyte = 1_048_576;
export const defaultLimits = {
  mostBytesReceived: 2_048 * mebibyte,
  mostBytesSent: 2_048 * mebibyte,
  idleMilliseconds: 60_000,
  totalMilliseconds: 30 * 60_000,
} as const;

export function createSession(options: RelayedOptions, tokenDigest: Buffer): Session {
  const limits = { ...defaultLimits, ...options.limits };
  const url = new URL(options.url);
  const ending = new AbortController();
  const end = (failure: RemoteFailure): void => {
    session.fail(failure);
    session.close();
  };
  const endByTime = (milliseconds: number, what: string) =>
    setTimeout(
      () => end({ kind: 'timeout', reason: `${url.host} ${what} ${milliseconds / 1_000} s.` }),
      milliseconds,
    ).unref();
  const total = endByTime(limits.totalMilliseconds, 'was not done within');
  const idle = endByTime(limits.idleMilliseconds, 'sent and took nothing for');

  const passed = { received: 0, sent: 0 };
  const session: Session = {
    base: url.origin + trimEnd(url.pathname, '/'),
    host: url.host,
    direction: options.direction,
    credential: options.credential,
    tokenDigest,
    signal: ending.signal,
    failure: undefined,
    count(direction, bytes) {
      passed[direction] += bytes;
      idle.refresh();
      options.onBytes?.(bytes);
      const most = direction === 'received' ? limits.mostBytesReceived : limits.mostBytesSent;
      if (passed[direction] <= most) return;
      const done = direction === 'received' ? `${url.host} sent` : `More was to be sent to ${url.host}:`;
      end({ kind: 'too-large', reason: `${done} more than ${Math.round(most / mebibyte)} MiB.` });
    },
    fail(failure) {
      session.failure ??= failure;
    },
    close() {
      clearTimeout(total);
      clearTimeout(idle);
      ending.abort();
    },
  };
  return session;
}
