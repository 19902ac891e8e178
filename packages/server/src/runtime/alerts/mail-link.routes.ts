/**
 * `GET, POST /mail/{token}`: the links in mails, for owners of addresses, who do not sign in. The page of GET changes
 * nothing, because scanners of mail open every link; its buttons send a POST.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { cutLateBody } from '../../kernel/http/late-body.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { RateLimit } from '../../kernel/security/rate-limit.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { digestToken, mailPath, readRecipientToken } from './mail-links.ts';
import {
  findAsked,
  findRecipient,
  type MailAnswer,
  type Recipient,
  recordAnswer,
} from './mail-recipient.store.ts';

export interface MailLinkServices {
  database: Database;
  clock: Clock;
  newId: NewId;
  sealer: Sealer;
  rateLimit: RateLimit;
}

/** The forms of strangers: `answer`, or what a mail program sends. */
const formBytes = 16_384;
const formMilliseconds = 10_000;
const tokenForm = /^[cr][\w-]{43,80}$/;
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  // The address of the page is the right to answer.
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
};

export function mailLinkRoutes({ app }: Endpoints, services: MailLinkServices): void {
  const { database, clock, newId, sealer, rateLimit } = services;

  async function find(token: string): Promise<Recipient | undefined> {
    if (!tokenForm.test(token)) return undefined;
    if (token.startsWith('c')) return findAsked(database.read, digestToken(sealer, token), clock.now());
    const recipientId = readRecipientToken(sealer, token);
    return recipientId === undefined ? undefined : findRecipient(database.read, recipientId);
  }

  type Request = FastifyRequest<{ Params: { token: string } }>;

  async function findOrRefuse(request: Request): Promise<Recipient | undefined> {
    const found = await find(request.params.token);
    if (found === undefined) rateLimit.countRefused(request.ip);
    return found;
  }

  app.get(`${mailPath}/:token`, async (request: Request, reply) => {
    const recipient = await findOrRefuse(request);
    if (recipient === undefined) return sendUnknown(reply);
    return reply.headers(pageHeaders).send(renderChoice(recipient, request.params.token));
  });

  const cut = cutLateBody(formMilliseconds, (reply) => {
    reply.code(408).headers(pageHeaders).send(renderPage('The form did not arrive in time', ''));
  });

  app.post(
    `${mailPath}/:token`,
    { bodyLimit: formBytes, onRequest: cut, config: { bodyType: 'application/x-www-form-urlencoded' } },
    async (request: Request, reply) => {
      const recipient = await findOrRefuse(request);
      if (recipient === undefined) return sendUnknown(reply);
      const answer = readAnswer(request);
      if (answer === undefined || (answer === 'confirm' && !mayConfirm(recipient, request.params.token)))
        return reply.code(400).headers(pageHeaders).send(renderChoice(recipient, request.params.token));
      const now = clock.now();
      await database.transaction(async (tx) => recordAnswer(tx, recipient, answer, { now, newId }));
      return reply.headers(pageHeaders).send(renderOutcome(recipient, answer));
    },
  );
}

const answers: readonly MailAnswer[] = ['confirm', 'refuse', 'refuse-all'];

/** A mail program that refuses by one click sends a form of its own (RFC 8058), to the link in a mail of an alert. */
function readAnswer({ body, params }: FastifyRequest<{ Params: { token: string } }>): MailAnswer | undefined {
  const form = new URLSearchParams(typeof body === 'string' ? body : '');
  const answer = answers.find((each) => each === form.get('answer'));
  return answer ?? (params.token.startsWith('r') && !form.has('answer') ? 'refuse' : undefined);
}

const sendUnknown = (reply: FastifyReply) =>
  reply
    .code(404)
    .headers(pageHeaders)
    .send(
      renderPage(
        'This link is not valid',
        '<p>It has expired, or a later mail replaced it. Ask whoever keeps the alert rule to save its addresses again.</p>',
      ),
    );

/** The link that does not expire only takes back a refusal. */
const mayConfirm = ({ is_refused: isRefused }: Recipient, token: string) =>
  token.startsWith('c') || isRefused;

function renderChoice(recipient: Recipient, token: string): string {
  const { is_confirmed: isConfirmed, is_refused: isRefused } = recipient;
  const address = `<b>${escapeText(recipient.address)}</b>`;
  const account = `<b>${escapeText(recipient.account_name)}</b>`;
  const present = isRefused ? 'You refused mails.' : isConfirmed ? 'You confirmed this address.' : '';
  const buttons = [
    ...((isConfirmed && !isRefused) || !mayConfirm(recipient, token)
      ? []
      : [renderButton('confirm', 'Send me alerts')]),
    ...(isRefused ? [] : [renderButton('refuse', 'No mails from this account')]),
    renderButton('refuse-all', 'No mails from this server at all'),
  ];
  return renderPage(
    'Alerts by mail',
    `<p>The account ${account} wants to send alerts about its data pipelines to ${address}. ${present}</p>\n${buttons.join('\n')}\n`,
  );
}

const renderButton = (answer: MailAnswer, label: string) =>
  `<form method="post"><button name="answer" value="${answer}">${label}</button></form>`;

const outcomes: Readonly<Record<MailAnswer, string>> = {
  confirm: 'This address gets the alerts of the account',
  refuse: 'This address gets no more mails of the account',
  'refuse-all': 'This address gets no more mails of this server',
};

const renderOutcome = ({ address, account_name: account }: Recipient, answer: MailAnswer) =>
  renderPage('Saved', `<p>${outcomes[answer]}: ${escapeText(address)}, ${escapeText(account)}.</p>\n`);

const renderPage = (title: string, body: string) =>
  `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="robots" content="noindex">\n<title>${title}</title>\n<h1>${title}</h1>\n${body}</html>\n`;

const escapeText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
