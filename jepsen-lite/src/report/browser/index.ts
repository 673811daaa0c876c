/** The script of the index: nothing but light and dark. */

import { setUpTheme } from './theme.ts';

setUpTheme(() => {});
