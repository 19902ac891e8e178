/** What `npm start` prints: where it answers, with what credential, three lines to paste, and what is kept where. */
import type { Config } from './config.ts';
import type { ClientCredential } from './provisioning.ts';

export function banner(
  config: Config,
  about: { credential: ClientCredential; file: string | undefined; kept: readonly string[] },
): string {
  const url = config.publicUrl;
  const { clientId, secret } = about.credential;
  // A credential that was given is known to who gave it; it is not shown again.
  const shown = about.file === undefined ? '$HEADGATE_CLIENT_SECRET' : secret.reveal();
  const kept =
    about.file === undefined
      ? '(given by HEADGATE_CLIENT_ID and HEADGATE_CLIENT_SECRET)'
      : `(also in ${about.file})`;
  return `
Headgate is ready at ${url}

  reference      ${url}/docs
  API base       ${url}/dpc/v1
  client id      ${clientId}
  client secret  ${shown}   ${kept}

Try it:

  TOKEN=$(curl -s ${url}/oauth/dpc/token -d grant_type=client_credentials -d client_id=${clientId} -d client_secret=${shown} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -s -H "Authorization: Bearer $TOKEN" ${url}/dpc/v1/projects
  curl -s -H "Authorization: Bearer $TOKEN" ${url}/dpc/v1/pipeline-executions

What is kept where:

${about.kept.map((line) => `  ${line}`).join('\n')}

Press Ctrl-C to stop.
`;
}
