/** The pages on which a person confirms that a program may act as them. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { html, type Markup } from '../../kernel/http/html.ts';
import { sendPage } from '../sign-in/index.ts';
import { findProgramName } from './program.ts';

/** Who is signed in. */
export interface Person {
  account_id: string;
  user_id: string;
  session_id: string;
  user_name: string;
  account_name: string;
  roles: string[];
}

export function sendConfirmation(
  reply: FastifyReply,
  { user_name, account_name, roles }: Person,
  of: { clientId: string; details: Markup; fields: Record<string, string>; action: string },
): FastifyReply {
  const hidden = Object.entries(of.fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const depth = of.action === 'device' ? 0 : 1;
  return sendPage(
    reply,
    { title: `Let ${findProgramName(of.clientId)} act as you?`, depth },
    html`<p>You are <b>${user_name}</b> in the account <b>${account_name}</b>. The program <b>${of.clientId}</b> may then do
all that you may do: you have the role ${roles.join(', ')} in the account, and your roles in projects.</p>
${of.details}
<form method="post" action="${of.action}">${hidden}<p><button name="decision" value="allow">Allow</button></p>
<p><button name="decision" value="refuse">Refuse</button></p></form>`,
  );
}

export function sendCodeForm(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    { title: 'Sign in a program', depth: 0 },
    html`<form method="get" action="device"><label for="user_code">The code that the program shows</label>
<input id="user_code" name="user_code" required maxlength="40" autocomplete="off"><button>Continue</button></form>`,
  );
}

export function sendToSignIn(reply: FastifyReply, { url }: FastifyRequest, root: string): FastifyReply {
  reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  return reply.redirect(`${root}sign-in?returnTo=${encodeURIComponent(url)}`, 303);
}

export function sendUnknownCode(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    { status: 404, title: 'This code cannot be used', depth: 0 },
    html`<p>It is wrong, was used, or has expired. <a href="device">Enter it again</a>, or start the program again.</p>`,
  );
}

export function sendTooMany(reply: FastifyReply, seconds: number): FastifyReply {
  reply.header('retry-after', String(seconds));
  return sendPage(
    reply,
    { status: 429, title: 'Too many wrong codes', depth: 0 },
    html`<p>Try again in ${seconds} s.</p>`,
  );
}

export function sendUnusable(reply: FastifyReply, depth: number, reason: string): FastifyReply {
  return sendPage(reply, { status: 400, title: 'The program cannot sign in', depth }, html`<p>${reason}</p>`);
}

export function sendElsewhere(reply: FastifyReply, depth: number): FastifyReply {
  return sendPage(
    reply,
    { status: 403, title: 'The request came from another site', depth },
    html`<p>Open the page at the server's own address, and try again there.</p>`,
  );
}
