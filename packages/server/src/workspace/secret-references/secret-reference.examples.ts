/** A request that succeeds for each operation on secret references. */
import type { Examples, Place } from '../../testing/place.ts';

const secretReference = {
  secretReferenceType: 'OAUTH_CLIENT_CRED',
  secretName: 'prod/weather-api',
  vaultType: 'AWS_SECRET_MANAGER',
  provider: 'AWS',
  description: 'The client of the weather API',
};

/** Returns its path. */
export async function createSecretReference({ account, project, named }: Place): Promise<string> {
  const path = `${project.path}/secret-references/${named('weather-api')}`;
  await account.admin.post(path, secretReference);
  return path;
}

export const secretReferenceExamples: Examples = {
  async listSecretReferences(place) {
    await createSecretReference(place);
    const filters = 'secretReferenceType=OAUTH_CLIENT_CRED&provider=AWS';
    return { path: `${place.project.path}/secret-references?${filters}` };
  },
  createSecretReference: ({ project, agent, named }) => ({
    path: `${project.path}/secret-references/${named('weather-api')}`,
    body: { ...secretReference, agentId: agent.agentId },
  }),
  deleteSecretReference: async (place) => ({ path: await createSecretReference(place) }),
};
