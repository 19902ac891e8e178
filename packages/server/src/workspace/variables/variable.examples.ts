/** A request that succeeds for each operation on variables and their overrides. */
import { city, type Examples, override } from '../../../testing/place.ts';

export const variableExamples: Examples = {
  listVariables: ({ project }) => ({ path: `${project.path}/variables?page=0&size=10` }),
  createVariable: ({ project, named }) => ({
    path: `${project.path}/variables`,
    body: { name: named('wetDayMillimetres'), type: 'NUMBER', behaviour: 'SHARED', value: 1 },
  }),
  getVariable: ({ project }) => ({ path: `${project.path}/variables/city` }),
  updateVariable: ({ project }) => ({
    path: `${project.path}/variables/city`,
    body: { type: 'TEXT', behaviour: 'SHARED', value: 'Trondheim', description: 'Where it rains' },
  }),
  async deleteVariable({ account, project, named }) {
    const name = named('country');
    await account.admin.post(`${project.path}/variables`, { ...city, name });
    return { path: `${project.path}/variables/${name}` };
  },
  getOverrides: ({ project }) => ({ path: `${project.path}/variables/city/environment-overrides` }),
  writeOverrides: ({ project }) => ({
    path: `${project.path}/variables/city/environment-overrides`,
    body: { environmentOverrides: [override] },
  }),
  async deleteOverride({ account, project }) {
    const path = `${project.path}/variables/city/environment-overrides`;
    await account.admin.post(path, override);
    return { path: `${path}/dev` };
  },
};
