/** A mail server on loopback. */
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  from: string;
  recipients: string[];
  isEncrypted: boolean;
  user: string | undefined;
  /** Headers and body, as sent. */
  source: string;
}

export interface SmtpReceiver {
  port: number;
  received: ReceivedMail[];
  /** Code of the refusal of each recipient; undefined takes them. */
  refuseWith: number | undefined;
  close(): Promise<void>;
}

/** Takes all mails. With `login`, senders must log in with it. */
export async function startSmtpReceiver(
  options: SMTPServerOptions = {},
  login?: { user: string; password: string },
): Promise<SmtpReceiver> {
  const server = new SMTPServer({
    authOptional: login === undefined,
    ...options,
    onAuth({ username, password }, _session, callback) {
      if (username === login?.user && password === login?.password) callback(null, { user: username });
      else callback(null, { message: `Wrong password ${password}`, responseCode: 535 });
    },
    onRcptTo({ address }, _session, callback) {
      const { refuseWith } = receiver;
      if (refuseWith === undefined) callback();
      else callback(Object.assign(new Error(`no ${address} now`), { responseCode: refuseWith }));
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        receiver.received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          recipients: rcptTo.map(({ address }) => address),
          isEncrypted: session.secure,
          user: session.user,
          source: Buffer.concat(chunks).toString('utf8'),
        });
        callback();
      });
    },
  });
  const receiver: SmtpReceiver = {
    port: 0,
    received: [],
    refuseWith: undefined,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  // A client that does not trust the certificate is an error of the connection.
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.port = (server.server.address() as AddressInfo).port;
  return receiver;
}
