/** What the server and the thread of the relay say to each other. */
import type { RemoteFailure, RemoteLimits, RemoteOptions, ShownCredential } from './remote.ts';

export interface RelayThreadOptions {
  trustedOrigins: readonly string[];
  ca: string | undefined;
}

/** A remote to open. Its secret texts stay in this process. */
export interface RemoteOrder {
  url: string;
  credential: ShownCredential | undefined;
  direction: RemoteOptions['direction'];
  limits: Partial<RemoteLimits>;
}

/** What the egress guard says of an address. */
export type Checked =
  | { addresses: readonly { address: string; family: 4 | 6 }[] }
  | { refused: string; isUnresolved: boolean };

/** To the thread. `id` names a question of either side, `url` an opened remote. */
export type RelayRequest =
  | { kind: 'open'; id: number; order: RemoteOrder }
  | { kind: 'failure'; id: number; url: string }
  | { kind: 'close'; url: string }
  | { kind: 'checked'; id: number; checked: Checked };

/** From the thread. */
export type RelayReport =
  | { kind: 'opened'; id: number; url: string; environment: Record<string, string> }
  | { kind: 'failed'; id: number; reason: string }
  | { kind: 'failure'; id: number; failure: RemoteFailure | undefined }
  | { kind: 'bytes'; url: string; bytes: number }
  | { kind: 'check'; id: number; address: string };
