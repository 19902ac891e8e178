/** The pages of signing in. They need no script; links are relative, so that they work behind a proxy. */
import type { FastifyReply } from 'fastify';
import { html, type Markup } from '../../kernel/http/html.ts';
import { cutLateBody } from '../../kernel/http/late-body.ts';

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  // Addresses of links and callbacks hold secrets.
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
};

export const stylePath = '/sign-in/style.css';

/** @param depth how many folders the page is below the server's own address */
export function sendPage(
  reply: FastifyReply,
  { status = 200, title, depth }: { status?: number; title: string; depth: number },
  content: Markup,
): FastifyReply {
  const root = depth === 0 ? './' : '../'.repeat(depth);
  const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} - Headgate</title>
<link rel="stylesheet" href="${root}${stylePath.slice(1)}">
<main>
<p class="product">Headgate</p>
<h1>${title}</h1>
${content}
</main>
</html>
`;
  return reply.code(status).headers(pageHeaders).send(page.text);
}

export function sendElsewhere(reply: FastifyReply, depth: number): FastifyReply {
  return sendPage(
    reply,
    { status: 403, title: 'The request came from another site', depth },
    html`<p>Open the page at the server's own address, and try again there.</p>`,
  );
}

export function sendUnavailable(reply: FastifyReply, depthOfPage: number, publicUrl: string): FastifyReply {
  const title = 'Nobody can sign in at this address';
  return sendPage(
    reply,
    { status: 400, title, depth: depthOfPage },
    html`<p>Browsers keep a session only over HTTPS or on localhost. Open the server by an https address, or on its own
machine by localhost. Its public address is ${publicUrl}.</p>`,
  );
}

const formBytes = 16_384;
const formMilliseconds = 10_000;

/** Of a route that takes a form without members that matter: its button is all there is. */
export const createFormOptions = (depth: number) => ({
  bodyLimit: formBytes,
  onRequest: cutLateBody(formMilliseconds, (reply) => {
    sendPage(reply, { status: 408, title: 'The form did not arrive in time', depth }, html``);
  }),
  config: { bodyType: 'application/x-www-form-urlencoded' },
});

const passkeyScript = html`<p id="passkey-status" role="status"></p><script type="module" src="sign-in/passkeys.js"></script>`;

/** For pages at `/sign-in`. The script shows the button. */
export const renderPasskey = (): Markup =>
  html`<p><button type="button" id="use-passkey" hidden>Use a passkey</button></p>${passkeyScript}`;

export const renderNewPasskey = (): Markup =>
  html`<h2>Passkeys</h2>
<p>With a passkey you sign in by your fingerprint, your face or the PIN of your device.</p>
<label for="passkey-name">Name of the new passkey</label>
<input id="passkey-name" value="This device" maxlength="255" autocomplete="off">
<button type="button" id="add-passkey" hidden>Add a passkey</button>${passkeyScript}`;

export const renderButton = (action: string, label: string): Markup =>
  html`<form method="post" action="${action}"><button>${label}</button></form>`;

export const style = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 0; display: grid; place-items: center; min-height: 100vh; background: light-dark(#f4f5f7, #14161a);
  color: light-dark(#1c1f26, #e8eaee) }
main { box-sizing: border-box; width: min(26rem, 100vw); padding: 2rem; border-radius: 12px;
  background: light-dark(#fff, #1d2026); overflow-wrap: anywhere }
.product { margin: 0; font-weight: 600; color: light-dark(#4a5160, #a5adbb) }
h1 { margin: .25rem 0 1rem; font-size: 1.5rem; line-height: 1.25 }
h2 { margin: 2rem 0 .25rem; font-size: 1.1rem }
ul { list-style: none; padding: 0; display: grid; gap: .5rem }
a.button, button { box-sizing: border-box; display: block; width: 100%; padding: .6rem 1rem; border: 0;
  border-radius: 8px; font: inherit; font-weight: 600; text-align: center; text-decoration: none; cursor: pointer;
  background: light-dark(#1f4fd8, #86a8ff); color: light-dark(#fff, #0d1526) }
a.button:hover, button:hover { background: light-dark(#1a41b3, #a5c0ff) }
:focus-visible { outline: 3px solid light-dark(#1f4fd8, #86a8ff); outline-offset: 2px }
label { display: block; margin-bottom: .25rem }
input { box-sizing: border-box; width: 100%; margin-bottom: 1rem; padding: .5rem; font: inherit; border-radius: 8px;
  border: 1px solid light-dark(#747c8a, #8b93a1); background: transparent; color: inherit }
a { color: light-dark(#1f4fd8, #86a8ff) }
`;
