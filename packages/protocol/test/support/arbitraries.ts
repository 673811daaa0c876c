/** Every value that the protocol can carry, made from the declarations. */

import { clientMessages, serverMessages } from '../../src/messages/message.ts';
import { answers, queries } from '../../src/messages/query.ts';
import { commands } from '../../src/messages/command.ts';
import { replies } from '../../src/messages/reply.ts';
import { stat as declaredStat } from '../../src/messages/stat.ts';
import { valuesOf } from './arbitrary-of.ts';

export const stat = valuesOf(declaredStat);
export const command = valuesOf(commands);
export const reply = valuesOf(replies);
export const query = valuesOf(queries);
export const answer = valuesOf(answers);
export const clientMessage = valuesOf(clientMessages);
export const serverMessage = valuesOf(serverMessages);
