/**
 * The links in mails. Who has one reads the mailbox: it confirms the address, or refuses mails. Tokens are keyed
 * hashes, so a mail that is sent again has the same link, and the database does not hold it.
 */
import type { Sealer } from '../../kernel/security/sealed.ts';

export const mailPath = '/mail';
const refusalForm = /^r([0-9a-f]{32})([\w-]{43})$/;

/** The token of a confirmation mail. */
export const makeConfirmationToken = (sealer: Sealer, mailId: string): string =>
  `c${sealer.digest(mailId, 'mail confirmation').toString('base64url')}`;

/** What the database keeps of it. */
export const digestToken = (sealer: Sealer, token: string): Buffer => sealer.digest(token, 'mail link');

/** The token in every mail to a recipient. It does not expire: old mails can be the reason to refuse more. */
export function makeRecipientToken(sealer: Sealer, recipientId: string): string {
  const mac = sealer.digest(recipientId, 'mail recipient').toString('base64url');
  return `r${recipientId.replaceAll('-', '')}${mac}`;
}

/** Undefined if the token is not one that this server made. */
export function readRecipientToken(sealer: Sealer, token: string): string | undefined {
  const [, hex, mac] = refusalForm.exec(token) ?? [];
  if (hex === undefined || mac === undefined) return undefined;
  const recipientId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return sealer.matches(recipientId, 'mail recipient', Buffer.from(mac, 'base64url'))
    ? recipientId
    : undefined;
}

export const renderMailLink = (publicUrl: string, token: string) => `${publicUrl}${mailPath}/${token}`;
