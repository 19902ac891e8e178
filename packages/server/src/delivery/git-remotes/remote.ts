/**
 * The only way from the server and its git processes to other Git hosts (docs/adr/0064).
 *
 * Terminology
 *   remote      a repository on another host, as git sees it: an address on loopback
 *   relay       the listener on loopback, in a thread. It guards the address, connects, and adds the credential
 *   session     one opened remote. Its token lets git use the relay, for this remote only
 *   credential  what the other host is shown. It is sent to the origin that it was made for, and nowhere else
 */
import type { Readable } from 'node:stream';
import type { Secret } from '@headgate/contract';
import type { RemoteAccess } from '../git/index.ts';

export type Credential = { origin: string } & (
  | { kind: 'basic'; username: string; password: Secret }
  | { kind: 'bearer'; token: Secret }
);

/** A credential as it is sent to its origin. */
export interface ShownCredential {
  origin: string;
  /** The value of the Authorization header. */
  authorization: string;
  /** All forms in which a host could send it back. */
  secretForms: readonly string[];
}

export interface RemoteLimits {
  /** From the host, all requests together. */
  mostBytesReceived: number;
  /** To the host, all requests together. */
  mostBytesSent: number;
  /** Without a byte in either direction. */
  idleMilliseconds: number;
  /** From the opening of the remote. */
  totalMilliseconds: number;
}

const remoteFailureKinds = [
  /** The egress guard refuses the address. */
  'address-refused',
  /** No connection, or no valid HTTP. */
  'unreachable',
  /** The host answered with a status that is no success. */
  'status',
  /** The host sends elsewhere. Redirects are not followed. */
  'redirect',
  /** The answer is not Git's protocol. */
  'not-git',
  /** The connection was closed in the middle of an answer. */
  'cut',
  'timeout',
  'too-large',
] as const;
export type RemoteFailureKind = (typeof remoteFailureKinds)[number];

export interface RemoteFailure {
  kind: RemoteFailureKind;
  /** A sentence for the tenant, without credentials. */
  reason: string;
  /** Of the host's answer. */
  status?: number;
  /** Names in lower case; of a failed status, for adapters that explain it. */
  headers?: Readonly<Record<string, string | undefined>>;
  /** What the host wrote: at most 1,000 characters, without credentials and control characters. */
  text?: string;
}

/** Thrown by `fetch`, when there was no complete answer. */
export class RemoteFailed extends Error {
  override name = 'RemoteFailed';
  readonly failure: RemoteFailure;
  constructor(failure: RemoteFailure) {
    super(failure.reason);
    this.failure = failure;
  }
}

export interface RemoteOptions {
  /** The clone URL, without user and password. */
  url: string;
  credential?: Credential | undefined;
  /** `read` permits fetching only. */
  direction: 'read' | 'write';
  limits?: Partial<RemoteLimits>;
  /** Called now and then with the bytes that passed since, in both directions. */
  onBytes?: (bytes: number) => void;
}

export interface OpenedRemote extends RemoteAccess {
  /** The first failure of this remote, if there was one. `onBytes` has then counted all that passed. */
  readFailure(): Promise<RemoteFailure | undefined>;
  /** Ends the session and its requests. */
  close(): void;
}

export interface GuardedFetch {
  method?: string;
  /** Without Authorization, unless the other host itself named it for this very address. */
  headers?: Readonly<Record<string, string>>;
  /** Set `content-length` for a stream. */
  body?: string | Uint8Array | Readable;
  /** Added only if its origin is that of the address. */
  credential?: Credential | undefined;
  /** Whether a host named the address. It is then checked even if its origin is the operator's. */
  isNamedByHost?: boolean;
  /** More bytes of the answer's body are the failure `too-large`. */
  mostBytes: number;
  /** For the whole exchange, until the body was read. */
  timeoutMilliseconds: number;
  signal?: AbortSignal | undefined;
}

export interface GuardedAnswer {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  /** Must be read or destroyed. Fails with RemoteFailed. */
  body: Readable;
}

export interface Remotes {
  openRemote(options: RemoteOptions): Promise<OpenedRemote>;
  /**
   * Sends one request to another host. A redirect is an answer: it is not followed.
   * @throws RemoteFailed
   */
  fetch(url: string, options: GuardedFetch): Promise<GuardedAnswer>;
  /** As `fetch`, with the body as text. */
  fetchText(url: string, options: GuardedFetch): Promise<Omit<GuardedAnswer, 'body'> & { body: string }>;
  /** Ends all sessions and the listener. */
  close(): Promise<void>;
}
