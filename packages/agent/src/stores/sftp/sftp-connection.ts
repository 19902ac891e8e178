/**
 * A connection to an SFTP server: to the address that was judged, with the expected key, and with a bound for each
 * answer. `ssh2` is loaded at the first use.
 */
import { connect as connectSocket, type Socket } from 'node:net';
import type { Egress } from '@headgate/contract/egress';
import type { Secret } from '@headgate/contract/without-schemas';
import { PermanentFault } from '@headgate/pipelines';
import type { Client, SFTPWrapper } from 'ssh2';
import { ExchangeError } from '../../connectors/exchange.ts';
import { waitUnlessAborted } from '../../unless-aborted.ts';
import { judgeHostKey } from './host-key.ts';

export interface SftpServer {
  /** For messages: `sftp://host`. */
  name: string;
  host: string;
  port: number;
  username: string;
  password: Secret | undefined;
  privateKey: Secret | undefined;
  passphrase: Secret | undefined;
  hostKey: string | undefined;
}

export interface SftpBounds {
  /** To connect and to sign in. */
  connectMilliseconds: number;
  /** For the answer to a request. */
  answerMilliseconds: number;
}

export interface SftpConnection {
  readonly sftp: SFTPWrapper;
  readonly isBroken: boolean;
  /** Sends a request and waits for its answer. @throws ExchangeError, PermanentFault, SftpFault */
  ask<Result>(
    signal: AbortSignal,
    send: (done: (error: Error | null | undefined, result: Result) => void) => unknown,
  ): Promise<Result>;
  close(): void;
}

/** The server has understood a request and refused it. */
export class SftpFault extends PermanentFault {
  /** Of draft-ietf-secsh-filexfer-02, section 7. */
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const statuses: Readonly<Record<number, string>> = {
  2: 'there is no such file',
  3: 'the user may not do this there; ask the operator of the server for the right',
  4: 'the server cannot do this, for example because its disk is full or a folder is in the way',
  8: 'the server does not support this',
};

export async function openConnection(
  server: SftpServer,
  egress: Egress,
  { connectMilliseconds, answerMilliseconds }: SftpBounds,
  signal: AbortSignal,
): Promise<SftpConnection> {
  const bounded = new AbortController();
  const stop = () => bounded.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const seconds = connectMilliseconds / 1_000;
  const late = new ExchangeError(`${server.name} did not let the agent sign in within ${seconds} s`);
  const timer = setTimeout(() => bounded.abort(late), connectMilliseconds);
  try {
    signal.throwIfAborted();
    const { Client } = await import('ssh2').then((loaded) => loaded.default);
    const socket = await openSocket(server, egress, bounded.signal);
    const client = new Client();
    try {
      const sftp = await waitUnlessAborted(signIn(client, socket, server), bounded.signal);
      return watchConnection({ client, sftp, server, answerMilliseconds });
    } catch (error) {
      client.destroy();
      socket.destroy();
      throw error;
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/** To one of the addresses that were judged. */
async function openSocket(
  { name, host, port }: SftpServer,
  egress: Egress,
  signal: AbortSignal,
): Promise<Socket> {
  const addresses = await waitUnlessAborted(egress.check(new URL(`https://${host}:${port}`)), signal);
  let failure: unknown;
  for (const { address } of addresses) {
    const socket = connectSocket({ host: address, port, noDelay: true });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.once('connect', resolve).once('error', reject);
    try {
      await waitUnlessAborted(promise, signal);
      socket.off('error', reject);
      return socket;
    } catch (error) {
      socket.destroy();
      signal.throwIfAborted();
      failure = error;
    }
  }
  const { code } = failure as NodeJS.ErrnoException;
  throw new ExchangeError(`${name} cannot be reached (${code})`, { isUnsent: true });
}

function signIn(client: Client, socket: Socket, server: SftpServer): Promise<SFTPWrapper> {
  const { name, username, password, privateKey, passphrase, hostKey } = server;
  const { promise, resolve, reject } = Promise.withResolvers<SFTPWrapper>();
  let refusal: Error | undefined;
  // A listener stays: an error without one would end the agent.
  client.on('error', (error) => reject(refusal ?? explainSignIn(error, server)));
  client.on('close', () => reject(refusal ?? new ExchangeError(`${name} closed the connection`)));
  client.on('ready', () =>
    client.sftp((error, sftp) => {
      if (error === undefined || error === null) resolve(sftp);
      else reject(new PermanentFault(`${name} has no SFTP for the user "${username}": ${error.message}`));
    }),
  );
  client.on('keyboard-interactive', (_name, _instructions, _language, prompts, finish) =>
    finish(prompts.map(() => password?.reveal() ?? '')),
  );
  try {
    client.connect({
      sock: socket,
      username,
      ...(password === undefined ? {} : { password: password.reveal(), tryKeyboard: true }),
      ...(privateKey === undefined ? {} : { privateKey: privateKey.reveal() }),
      ...(passphrase === undefined ? {} : { passphrase: passphrase.reveal() }),
      hostVerifier(key: Buffer) {
        try {
          refusal = judgeHostKey(key, hostKey, name);
        } catch (error) {
          refusal = error as Error;
        }
        return refusal === undefined;
      },
      // The bound of the whole is ours.
      readyTimeout: 0,
      keepaliveInterval: 10_000,
      keepaliveCountMax: 3,
    });
  } catch (error) {
    reject(
      new PermanentFault(
        `the private key for ${name} cannot be read (${(error as Error).message}): it must be a key in the format of OpenSSH or PEM, with "passphrase" if it has one`,
      ),
    );
  }
  return promise;
}

function explainSignIn(
  error: Error & { level?: string; code?: string },
  { name, username }: SftpServer,
): Error {
  if (error.level === 'client-authentication')
    return new PermanentFault(
      `${name} does not let the user "${username}" in: check the name, and the password or the private key`,
    );
  if (error.level === 'handshake' || error.level === 'protocol')
    return new PermanentFault(`${name} does not speak SSH as expected: ${error.message}`);
  return new ExchangeError(`${name}: the connection broke (${error.code ?? error.message})`);
}

function watchConnection({
  client,
  sftp,
  server: { name },
  answerMilliseconds,
}: {
  client: Client;
  sftp: SFTPWrapper;
  server: SftpServer;
  answerMilliseconds: number;
}): SftpConnection {
  const ended = new AbortController();
  const end = () => ended.abort(new ExchangeError(`${name} closed the connection`));
  client.on('close', end);
  client.on('error', end);
  sftp.on('close', end);
  sftp.on('error', end);
  return {
    sftp,
    get isBroken() {
      return ended.signal.aborted;
    },
    async ask(signal, send) {
      signal.throwIfAborted();
      ended.signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<Parameters<Parameters<typeof send>[0]>[1]>();
      const seconds = answerMilliseconds / 1_000;
      const timer = setTimeout(() => {
        reject(new ExchangeError(`${name} did not answer within ${seconds} s`));
        client.destroy();
      }, answerMilliseconds);
      const stop = () => reject(signal.reason);
      const broken = () => reject(ended.signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      ended.signal.addEventListener('abort', broken, { once: true });
      try {
        send((error, result) => {
          if (error === undefined || error === null) resolve(result);
          else reject(explainAnswer(error, name));
        });
        return await promise;
      } catch (error) {
        throw explainAnswer(error as Error, name);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        ended.signal.removeEventListener('abort', broken);
      }
    },
    close: () => client.destroy(),
  };
}

function explainAnswer(error: Error & { code?: unknown }, name: string): Error {
  if (error instanceof ExchangeError || error instanceof PermanentFault) return error;
  if (typeof error.code !== 'number')
    return /No response|Not connected|ECONN|EPIPE/i.test(`${error.message} ${String(error.code)}`)
      ? new ExchangeError(`${name} closed the connection`)
      : error;
  const said = statuses[error.code] ?? error.message.slice(0, 300);
  return new SftpFault(error.code, `${name}: ${said}`);
}
