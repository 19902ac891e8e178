/**
 * The names of connector profiles in a version. A public client writes them so; a repository may hold files of
 * these names.
 */

const profileFile = /^connector-profile:((?:flex|custom)-[^/\\]+)\.json$/;

/** `flex-…` or `custom-…`, as pipelines name the profile; undefined for other files. */
export function connectorProfileName(path: string): string | undefined {
  return profileFile.exec(path)?.[1];
}

export function connectorProfilePath(profile: string): string {
  return `connector-profile:${profile}.json`;
}
