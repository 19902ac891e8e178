/** What is wrong with a text that is no http address, as the end of a sentence, with the remedy. */

/** `git@host:owner/name.git`, but no address with a scheme. */
const scpForm = /^(?:[^\s@/:]+@)?([\w.-]+):(?!\/\/)(?!\d+\/)(.+)$/;
const sshHosts: Readonly<Record<string, string>> = { 'ssh.dev.azure.com': 'dev.azure.com' };

export function explainAddressScheme(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const [, scpHost, scpPath = ''] = scpForm.exec(text) ?? [];
  const isSsh = url?.protocol === 'ssh:' || url?.protocol === 'git+ssh:';
  const [host, path] = isSsh ? [url.hostname, url.pathname] : [scpHost, scpPath];
  if (host !== undefined && host !== '' && (isSsh || url === undefined || scpHost?.includes('.'))) {
    const near = `https://${sshHosts[host] ?? host}/${path.replace(/^\/+/, '')}`;
    // Azure's SSH paths differ: v3/organization/project/repository.
    const azure = /\/v3\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(near);
    const proposed = azure ? `https://dev.azure.com/${azure[1]}/${azure[2]}/_git/${azure[3]}` : near;
    return `is an SSH address, and SSH is not supported; use the HTTPS address, such as ${proposed}`;
  }
  const scheme = url === undefined ? 'is not an address' : `begins with ${url.protocol}//`;
  return `${scheme}; use an https address, such as https://github.com/acme/weather.git`;
}
