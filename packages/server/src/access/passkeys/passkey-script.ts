/** The script of the page `/sign-in`: it runs the ceremonies of WebAuthn in the browser. */
export const scriptPath = '/sign-in/passkeys.js';

export const script = `const status = document.getElementById('passkey-status');
const say = (text) => { status.textContent = text; };
async function post(path, form) {
  const answer = await fetch(path, { method: 'POST', body: new URLSearchParams(form) });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.reason ?? 'The server answered ' + answer.status + '.');
  return body;
}
function listen(id, work) {
  const button = document.getElementById(id);
  if (button === null) return;
  button.hidden = false;
  if (window.PublicKeyCredential?.parseCreationOptionsFromJSON === undefined) {
    button.disabled = true;
    say('This browser has no passkeys, or is too old for them.');
    return;
  }
  button.addEventListener('click', async () => {
    button.disabled = true;
    say('');
    try {
      await work();
    } catch (failure) {
      say(failure.name === 'NotAllowedError' ? 'Cancelled.' : failure.message);
    }
    button.disabled = false;
  });
}
listen('use-passkey', async () => {
  const { options } = await post('sign-in/passkeys/options', {});
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey });
  const returnTo = new URLSearchParams(location.search).get('returnTo') ?? '';
  const { location: next } = await post('sign-in/passkeys', { response: JSON.stringify(credential), returnTo });
  location.assign('.' + next);
});
listen('add-passkey', async () => {
  const { options, state } = await post('sign-in/passkeys/registration-options', {});
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await navigator.credentials.create({ publicKey });
  const name = document.getElementById('passkey-name').value;
  await post('sign-in/passkeys/registrations', { state, name, response: JSON.stringify(credential) });
  say('The passkey is added. Next time you can sign in with it.');
});
`;
