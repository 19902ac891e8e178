/** What `npm start` prints: the addresses, the credential, commands to paste, and where the files are. */
import type { Config } from './config.ts';
import type { ClientCredential } from './provisioning.ts';

export interface BannerAbout {
  credential: ClientCredential;
  /** The file that holds the credential; undefined for a credential from the settings. */
  file: string | undefined;
  /**
   * Only on a terminal, and only at the start that created the credential: other output may be a log that
   * others read.
   */
  showsSecret: boolean;
  /** For a browser of this machine, once. Undefined: people sign in at an issuer, or elsewhere. */
  signInLink: string | undefined;
  locations: readonly string[];
}

export function renderBanner(
  config: Config,
  { credential, file, showsSecret, signInLink, locations: kept }: BannerAbout,
): string {
  const url = config.publicUrl;
  const { clientId, secret } = credential;
  const shown =
    showsSecret && file !== undefined ? `${secret.reveal()}   (shown only now, kept in ${file})` : undefined;
  const place = file === undefined ? 'as given by HEADGATE_CLIENT_SECRET' : `in ${file}`;
  return `
Headgate is ready at ${url}

  reference      ${url}/docs
  API base       ${url}/dpc/v1
  client id      ${clientId}
  client secret  ${shown ?? place}
  sign in        ${signInLink === undefined ? `${url}/sign-in` : `${signInLink}   (once, within 5 minutes)`}

Try it:

  TOKEN=$(curl -s ${url}/oauth/dpc/token -d grant_type=client_credentials -d client_id=${clientId} -d client_secret=${renderShellSecret(file)} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -s -H "Authorization: Bearer $TOKEN" ${url}/dpc/v1/projects
  curl -s -H "Authorization: Bearer $TOKEN" ${url}/dpc/v1/pipeline-executions

Files:

${kept.map((line) => `  ${line}`).join('\n')}

Press Ctrl-C to stop.
`;
}

/** The shell expression that yields the secret. */
function renderShellSecret(file: string | undefined): string {
  if (file === undefined) return '$HEADGATE_CLIENT_SECRET';
  const quoted = `'${file.replaceAll("'", String.raw`'\''`)}'`;
  return `$(sed -n 's/.*"clientSecret": "\\(.*\\)".*/\\1/p' ${quoted})`;
}
