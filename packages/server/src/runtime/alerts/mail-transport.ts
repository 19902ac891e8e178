/** Sends a mail by SMTP. */
import type { Transporter } from 'nodemailer';
import type { Secret } from '../../kernel/security/sealed.ts';

export interface MailSettings {
  host: string;
  port: number;
  /** TLS from the start (smtps). */
  isSecure: boolean;
  /** STARTTLS or nothing. False for a mail server on loopback, which is used without encryption. */
  requiresTls: boolean;
  login: { user: string; password: Secret } | undefined;
  from: { name: string; address: string };
}

export interface Mail {
  mailId: string;
  recipient: string;
  subject: string;
  text: string;
  /** Where the recipient can refuse mails, by one click of its mail program (RFC 8058). */
  unsubscribeUrl?: string | undefined;
}

export type MailResult =
  | { result: 'sent' }
  /** `isFinal`: the mail server will never take it. */
  | { result: 'failed'; error: string; isFinal: boolean };

export type SendMail = (mail: Mail) => Promise<MailResult>;

const timeouts = {
  dnsTimeout: 10_000,
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 20_000,
  socketCloseTimeout: 1_000,
  maxResponseSize: 65_536,
} as const;
const longestError = 1_000;

export function createMailTransport({
  host,
  port,
  isSecure,
  requiresTls,
  login,
  from,
}: MailSettings): SendMail {
  const password = login?.password.reveal();
  let opened: Promise<Transporter> | undefined;
  // At the first mail: most servers send none, and loading takes a fifteenth of their start.
  async function openTransport(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      ...{ host, port, ...timeouts },
      secure: isSecure,
      requireTLS: !isSecure && requiresTls,
      ignoreTLS: !isSecure && !requiresTls,
      disableFileAccess: true,
      disableUrlAccess: true,
      ...(login === undefined ? {} : { auth: { user: login.user, pass: password } }),
    });
  }
  const domain = from.address.slice(from.address.indexOf('@') + 1);
  return async ({ mailId, recipient, subject, text, unsubscribeUrl }) => {
    try {
      opened ??= openTransport();
      const transport = await opened;
      await transport.sendMail({
        from,
        to: { name: '', address: recipient },
        envelope: { from: from.address, to: [recipient] },
        // The same for each attempt, so that receivers recognize a mail that is sent twice.
        messageId: `<${mailId}@${domain}>`,
        headers: { 'Auto-Submitted': 'auto-generated', ...renderUnsubscribe(unsubscribeUrl) },
        subject,
        text,
      });
      return { result: 'sent' };
    } catch (failure) {
      return {
        result: 'failed',
        error: describeFailure(failure, password),
        isFinal: isFinalRefusal(failure),
      };
    }
  };
}

const renderUnsubscribe = (url: string | undefined): Record<string, string> =>
  url === undefined
    ? {}
    : { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };

const authenticationRequired = 530;

/**
 * A permanent refusal of this mail (RFC 5321 §4.2.1). A login that is refused is not one: the settings are
 * wrong, and the operator can correct them.
 */
function isFinalRefusal(failure: unknown): boolean {
  const { code, responseCode } = failure as { code?: unknown; responseCode?: unknown };
  return (
    (code === 'EENVELOPE' || code === 'EMESSAGE') &&
    typeof responseCode === 'number' &&
    responseCode >= 500 &&
    responseCode !== authenticationRequired
  );
}

/** One line without the password, which a mail server might repeat. */
function describeFailure(failure: unknown, password: string | undefined): string {
  const said = failure instanceof Error ? failure.message : String(failure);
  const safe = password === undefined || password === '' ? said : said.replaceAll(password, '***');
  const line = safe.replaceAll(/\p{Cc}+/gu, ' ').trim();
  return [...line].slice(0, longestError).join('');
}
