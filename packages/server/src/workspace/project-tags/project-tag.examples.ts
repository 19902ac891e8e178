/** A request that succeeds for each operation on project tags. */
import type { Examples, Place } from '../../../testing/place.ts';

/** Returns its path. */
async function createProjectTag({ account, project, named }: Place): Promise<string> {
  const name = named('cost-center');
  await account.admin.post(`${project.path}/tags`, { name, value: 'finance' });
  return `${project.path}/tags/${name}`;
}

export const projectTagExamples: Examples = {
  async findTaggedProjects(place) {
    const path = await createProjectTag(place);
    return { path: `/project-tags?name=${path.split('/').at(-1)}` };
  },
  async listProjectTags(place) {
    await createProjectTag(place);
    return { path: `${place.project.path}/tags` };
  },
  createProjectTag: ({ project, named }) => ({
    path: `${project.path}/tags`,
    body: { name: named('cost-center'), value: 'finance' },
  }),
  getProjectTag: async (place) => ({ path: await createProjectTag(place) }),
  updateProjectTag: async (place) => ({
    path: await createProjectTag(place),
    body: { value: 'marketing' },
  }),
  deleteProjectTag: async (place) => ({ path: await createProjectTag(place) }),
};
