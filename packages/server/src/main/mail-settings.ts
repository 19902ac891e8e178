/** The settings of outgoing mail: HEADGATE_SMTP_URL, HEADGATE_SMTP_FROM, and its limits. */
import { mailAddressForm } from '@headgate/contract';
import { isLoopbackHost } from '../kernel/security/loopback-host.ts';
import { Secret } from '../kernel/security/sealed.ts';
import type { MailLimits, MailSettings } from '../runtime/alerts/index.ts';
import type { Reader } from './setting-reader.ts';

const namedForm = /^([\w.&() -]{1,100})<([^<>]+)>$/;

/** Undefined without these settings: the server sends no mail. */
export function readMailSettings(read: Reader, faults: string[]): MailSettings | undefined {
  const server = read.parsed('HEADGATE_SMTP_URL', parseSmtpUrl);
  const from = read.parsed('HEADGATE_SMTP_FROM', parseSender);
  const [hasServer, hasSender] = ['HEADGATE_SMTP_URL', 'HEADGATE_SMTP_FROM'].map(
    (name) => read.text(name) !== undefined,
  );
  if (hasServer !== hasSender) faults.push('HEADGATE_SMTP_URL and HEADGATE_SMTP_FROM must be set together');
  return server === undefined || from === undefined ? undefined : { ...server, from };
}

export const readMailLimits = (read: Reader): MailLimits => ({
  perDay: read.integer('HEADGATE_MAIL_PER_DAY', 1_000, 1, 1_000_000),
  domains: read.parsed('HEADGATE_MAIL_DOMAINS', parseDomains) ?? [],
});

function parseDomains(text: string): string[] {
  return text.split(',').map((each) => {
    const domain = each.trim().toLowerCase();
    if (!mailAddressForm.test(`a@${domain}`))
      throw new Error(`${JSON.stringify(each)} is not a domain; write example.com,example.org`);
    return domain;
  });
}

/** The URL may hold a password, so no message repeats it. */
function parseSmtpUrl(text: string): Omit<MailSettings, 'from'> {
  const wrong = (what: string) =>
    new Error(`${what}; write smtp://user:password@host:587 or smtps://user:password@host:465`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw wrong('it is not a URL; special characters of the password must be encoded');
  if (url.protocol !== 'smtp:' && url.protocol !== 'smtps:')
    throw wrong('it must begin with smtp:// or smtps://');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (host === '') throw wrong('it names no host');
  if (url.port === '0') throw wrong('the port must be from 1 to 65535');
  if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '')
    throw wrong('nothing may follow the port');
  const [user, password] = [url.username, url.password].map(decode);
  if (user === undefined || password === undefined)
    throw wrong('its user and its password must be encoded, such as %40 for @');
  if ((user === '') !== (password === '')) throw wrong('a user and a password must be given together');
  const isSecure = url.protocol === 'smtps:';
  return {
    host,
    port: url.port === '' ? (isSecure ? 465 : 587) : Number(url.port),
    isSecure,
    requiresTls: !isLoopbackHost(host),
    login: user === '' ? undefined : { user, password: new Secret(password) },
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function parseSender(text: string): MailSettings['from'] {
  const [, name = '', address = text] = namedForm.exec(text) ?? [];
  if (!mailAddressForm.test(address) || address.length > 320)
    throw new Error(
      `${JSON.stringify(text)} is not an address; write alerts@example.com or Headgate <alerts@example.com>`,
    );
  return { name: name.trimEnd(), address };
}
