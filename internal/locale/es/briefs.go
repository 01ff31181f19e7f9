package es

// briefs are the methods of the signals in Markdown, by their ids. They have the numbers of the English ones in the signals' files.
var briefs = map[string]string{
	"crack-spread-321": `## Qué dice

Una refinería compra crudo y vende lo que obtiene de él. El crack spread 3:2:1 es el margen bruto de una refinería modelo que convierte tres barriles de crudo en dos de gasolina y uno de diésel, por barril de crudo. Un margen amplio indica que los productos escasean frente al crudo: a las refinerías les compensa trabajar a pleno rendimiento. Un margen estrecho o negativo indica que el crudo está caro o que los productos se acumulan. La puntuación z dice lo inusual que es el margen para la época del año: suele ampliarse antes de la temporada de viajes y con los primeros fríos.

## Cómo se obtiene

Cada día con los tres precios:

    margen = (2 * 42 * gasolina + 42 * diésel - 3 * crudo) / 3

- crudo: WTI al contado en Cushing (Oklahoma), en dólares por barril (EIA RWTC)
- gasolina: regular convencional al contado en el puerto de Nueva York, en dólares por galón (EIA EER_EPMRU_PF4_Y35NY_DPG)
- diésel: de muy bajo contenido en azufre, n.º 2, al contado en el puerto de Nueva York, en dólares por galón (EIA EER_EPD2DXL0_PF4_Y35NY_DPG)
- 42: galones por barril

Un día en que falta un precio no tiene valor; ningún precio se arrastra de un día a otro. La serie empieza el 14 de junio de 2006, con la serie del diésel. El gasóleo de calefacción, que era el destilado anterior, es otro producto y no se empalma. Con precios de 84,54; 2,57 y 2,79 resultan 26,48 dólares por barril.

## Referencia y puntuación z

La referencia es la media de todos los valores a no más de 15 días naturales del mismo día y mes en cada uno de los cinco años anteriores (el 29 de febrero cuenta como 28 cuando el año no lo tiene), entre 105 y 111 valores. La escala es su desviación típica muestral. Solo entran los años con al menos 10 valores en su ventana; con menos de tres de esos años no hay referencia.

    z = (margen - referencia) / escala
    diferencia en porcentaje = 100 * (margen / referencia - 1), desconocida si la referencia no es positiva

La señal da además la puntuación z del margen frente a sus 252 valores anteriores, que no tiene en cuenta la época del año, y cada precio frente a su propia época en cinco años.

## El intervalo

Los precios se conocen con exactitud, pero tienen varios días cuando se leen: la EIA publica los miércoles los precios diarios de la semana. El intervalo, construido para el 90 %, acota dónde puede estar ya el margen si ha seguido moviéndose con pasos de su tamaño habitual:

    margen ± 1,645 * s * raíz(d)

- s: desviación típica muestral de las 60 últimas variaciones diarias
- d: días de lunes a viernes entre el día de los precios y el de la lectura (UTC; los festivos cuentan). Para el valor más reciente es el momento del cálculo, de modo que el intervalo se ensancha hasta que llegan precios nuevos; para los anteriores, el día en que se conocieron, con un máximo de 14 días.

Se contrasta con el margen del día de la lectura tal como la EIA lo publicó después, o con el del último día anterior con los tres precios. De septiembre de 2006 a diciembre de 2025 lo contuvo en 916 de 1.004 publicaciones (91,2 %), cada una leída en su miércoles. De los días con precio exactamente dos, cinco o nueve días después, contuvo ese precio en el 90,4; el 91,7 y el 92,7 %.
Los saltos son más amplios de lo que admite un paseo aleatorio: en una semana como la del 20 de abril de 2020 el intervalo es demasiado estrecho antes y demasiado ancho después.

## Prueba retrospectiva

La puntuación z, con el signo cambiado, se contrasta con la variación del propio margen en las 20 sesiones posteriores a que se conociera el valor: un margen amplio debería estrecharse. Los valores cuentan desde el miércoles en que se publicaron, y la variación empieza después. Hasta diciembre de 2025 la correlación de rangos fue de 0,108. Lo contrario de la última variación del margen en 20 sesiones alcanzó 0,189: gana esa regla sencilla.

La EIA ha publicado y retirado filas de días festivos. Por eso los casos con valores anteriores a la primera consulta pueden contener información que entonces no se conocía. La prueba lo advierte, dice por qué y cuenta esos casos por separado.

## Qué no puede decir

- La gasolina es la convencional, no RBOB, la base del contrato en bolsa. No existe ningún precio diario gratuito de RBOB al contado en Nueva York.
- Son valoraciones al contado, no futuros: la cifra difiere del crack spread que cotiza en bolsa y no se puede negociar.
- El crudo se valora en Cushing y los productos en Nueva York: el coste del transporte está dentro del margen. Las refinerías de la costa este procesan sobre todo otros crudos.
- No es un beneficio: quedan fuera la energía, los salarios, los créditos de mezcla (RIN) y los rendimientos propios de una refinería real.
- Los valores extremos se conservan. El 20 de abril de 2020 el crudo costaba -36,98 dólares y el margen era de 65,62, con una puntuación z de 15,9: la aritmética es correcta y no significa que las refinerías se hicieran ricas. Una puntuación z superior a 8 debe leerse como un desorden en alguno de los precios. El margen más alto de la serie es 75,89 (13 de mayo de 2022) y el más bajo -1,62 (22 de septiembre de 2008).
- Cinco años que incluyen 2022 dan una escala ancha: las puntuaciones z de esos años son moderadas.

## Fuentes

- [EIA, precios al contado](https://www.eia.gov/dnav/pet/pet_pri_spt_s1_d.htm), publicados los miércoles con los días hasta el lunes o el martes; los valores se revisan rara vez, aunque se han publicado y retirado filas de días festivos
- La proporción es la de la calculadora de crack spread de CME y la de la EIA

Los datos de la EIA son de dominio público. Los propios metadatos de la EIA indican que los precios diarios al contado los suministra un tercero.
`,

	"eia-weekly-petroleum": `## Qué dice

Cuánto crudo había en los tanques comerciales de Estados Unidos al final de la semana y si es mucho para la época del año. Unas existencias por encima de lo habitual indican que la oferta ha ido por delante de las refinerías; por debajo, que se están consumiendo reservas. El mercado atiende más a la variación de la semana que al nivel, y de la variación, a la parte que la época del año no explica.

## Cómo se obtiene

El valor es la estimación semanal de la EIA de las existencias de crudo sin la reserva estratégica, en miles de barriles (WCESTUS1), tal como se publica. Los componentes son las existencias de gasolina (WGTSTUS1), las de destilados (WDISTUS1) y el uso de la capacidad de refino operable en porcentaje (WPULEUS3). Nada se ajusta, se suaviza ni se rellena: una semana que falta no tiene valor.

## Referencia y puntuación z

La misma semana de un año anterior es el viernes que dista como mucho tres días del mismo día y mes (el 29 de febrero cuenta como 28 cuando el año no lo tiene); hay exactamente uno. La referencia es la media de la misma semana en los cinco años anteriores; la escala, su desviación típica muestral. Con menos de tres años emparejados no hay referencia.

    z = (existencias - referencia) / escala
    diferencia en porcentaje = 100 * (existencias / referencia - 1)

El mínimo y el máximo de los cinco son el «rango de cinco años» de los gráficos de la EIA. Cinco valores dan una escala tosca: una puntuación z inferior a 2 significa «dentro de lo habitual en la época».

## La sorpresa estacional

    sorpresa = variación de la semana - variación media de la misma semana en los cinco años anteriores
    z de la sorpresa = sorpresa / desviación típica muestral de esas cinco variaciones

En la semana hasta el 16 de mayo de 2025 las existencias subieron 1.328 (en miles de barriles, como todo lo que sigue), cuando en los cinco años anteriores la caída media había sido de 3.537: una sorpresa de +4.865 y una puntuación z de 0,84.

## El intervalo

Las existencias más los cuantiles del 5 % y del 95 % de las sorpresas de los cinco últimos años, incluida la más reciente. Los cuantiles son sorpresas que ocurrieron, así que el intervalo puede ser más largo por un lado; necesita 104. Construido para el 90 %, acota las existencias de la semana siguiente tal como la EIA las publique por primera vez. De 1987 a mayo de 2026 las contuvo en 1.805 de 2.010 semanas (89,8 %).

No es el error de muestreo de la encuesta, que la EIA no publica con la serie.

## Prueba retrospectiva

La puntuación z de las existencias, con el signo cambiado, se contrasta con la variación del precio al contado del WTI en las 20 sesiones posteriores al informe: unos tanques llenos deberían abaratar el crudo. Eso es lo que se prueba, no la sorpresa estacional.

La EIA ha publicado y retirado filas de días festivos del precio del crudo. Por eso los casos con valores anteriores a la primera consulta pueden contener información que entonces no se conocía. La prueba lo advierte, dice por qué y cuenta esos casos por separado.

## Qué no puede decir

- La sorpresa se mide frente a la época del año, no frente a lo que esperaban los analistas. Su consenso no es gratuito; una cifra que sorprende para la época puede ser justo lo que el mercado había descontado.
- Las cifras semanales son estimaciones a partir de una muestra de empresas. Las sustituyen cifras mensuales de otras series y no se revisan: de 2.058 semanas ninguna cambió en cuatro años.
- Las existencias comerciales dependen de las ventas y compras de la reserva estratégica, que no forma parte de ellas.
- Los totales nacionales ocultan el lugar: en Cushing, donde se entrega el contrato de futuros, puede faltar crudo aunque el total sea abundante.
- La niebla en la costa del Golfo, los huracanes y la fecha de un festivo desplazan barriles de una semana a otra.
- Cinco años que incluyen 2020 dan una referencia alta y ancha.

## Fuentes

- [EIA, Weekly Petroleum Status Report](https://www.eia.gov/petroleum/supply/weekly/), con la semana hasta el viernes, los miércoles a las 10:30 de Nueva York y, tras un festivo, casi siempre el jueves

Los datos de la EIA son de dominio público como obra del Gobierno de Estados Unidos. La EIA pide que se la cite con la fecha de publicación.
`,

	"hormuz-transit": `## Qué dice

Cuántos buques cruzan al día el estrecho de Ormuz y si son muchos para la época del año. Por él sale del golfo Pérsico gran parte del petróleo y del gas licuado del mundo, y no hay otra ruta por mar. Una caída muy por debajo de lo habitual es una interrupción que el mercado del petróleo tiene que descontar.

## Cómo se obtiene

PortWatch, del FMI, cuenta buques por las señales de sus transmisores (AIS), cada buque una vez en 48 horas: portacontenedores, graneleros, carga general, carga rodada y petroleros. El valor es la media de siete días del recuento diario de los cinco tipos:

    valor = (recuento del día + recuentos de los seis días anteriores) / 7

Tienen que conocerse los siete días; un recuento de cero es un recuento. Los componentes son los petroleros por separado, comparados con su propia época, todos los buques frente a su media de 364 días (52 semanas) antes, y el número de días con mala cobertura.

## Referencia y puntuación z

La referencia es la media de todas esas medias de siete días a no más de 15 días naturales del mismo día y mes (el 29 de febrero cuenta como 28 cuando el año no lo tiene) en los años de 2019 a 2024 anteriores al del valor: 186 medias cuando cuentan los seis. La escala es su desviación típica muestral. Solo entran los años de los que se conocen al menos 16 de las 31 medias. Con menos de tres de esos años no hay referencia, así que la primera es de enero de 2022. Nada posterior a enero de 2025 entra: el cierre de marzo de 2026 no debe pasar a ser lo habitual.

    z = (valor - referencia) / escala
    diferencia en porcentaje = 100 * (valor / referencia - 1)

PortWatch reestima toda la historia de vez en cuando: entre abril y julio de 2026 cambió casi cada día, y en el verano de 2026 todos ellos, por un factor mediano de 0,83. Por eso el valor y la referencia proceden siempre del mismo estado de los datos, y un cálculo antiguo no debe compararse con una referencia nueva.

## El intervalo

Acota, construido para el 90 %, la media de los mismos siete días tal como PortWatch la reestime la próxima vez. No acota el número verdadero de buques, que nunca se ve, ni la semana siguiente. Las reestimaciones se comparan en una escala en la que caben juntas semanas de pocos y de muchos buques:

    x = 2 * raíz(7 * media + 0,375)
    inferior = ((máx(0, x(valor) + abajo) / 2)^2 - 0,375) / 7, nunca por debajo de 0
    superior = ((máx(0, x(valor) + arriba) / 2)^2 - 0,375) / 7

- abajo, arriba: los cuantiles del 5 % y del 95 % de x(después) - x(antes), cada semana de lunes a domingo según la última reestimación que se conoce de ella: de n diferencias ordenadas, la del lugar p * (n + 1), y entre dos de ellas en proporción; abajo es como máximo 0 y arriba como mínimo 0. Así el intervalo es más largo hacia el lado al que PortWatch mueve sus recuentos
- Con menos de 20 de esas semanas se suponen -6,9 y 3,4: lo que vivieron 52 semanas entre el 21 de abril y el 6 de julio de 2026

El historial cuenta solo intervalos aprendidos, cada uno contrastado con una reestimación posterior. Con menos de 20, el intervalo es un supuesto y no se afirma ninguna probabilidad. Todas las semanas de una reestimación se mueven juntas, por lo que un historial de pocas reestimaciones dice menos que su número de semanas. El intervalo anterior a este era simétrico: de las 52 semanas de abril contuvo el 88 %, y el 93 % de 359 medias solapadas. El tráfico varía más que los errores de recuento: la diferencia entre dos semanas seguidas es 2,4 veces mayor de lo que la haría el azar.

## Prueba retrospectiva

La puntuación z, con el signo cambiado, se contrasta con la variación del precio al contado del WTI en las 20 sesiones posteriores a que se conociera: menos buques deberían encarecer el crudo. Los años desde 2022 contienen un solo cierre, y un mercado que se entera de él en minutos.

PortWatch vuelve a estimar casi todos los días. Por eso los casos con valores anteriores a la primera consulta pueden contener información que entonces no se conocía. La prueba lo advierte, dice por qué y cuenta esos casos por separado.

## Qué no puede decir

- No se cuentan los buques que apagan su transmisor o sufren interferencias. En un conflicto, un recuento bajo es una cota superior de la interrupción: algunos de los buques que parecen faltar pueden haber pasado sin ser vistos. En los datos de PortWatch esos días se reconocen por petroleros sin ninguna carga: 12 días hasta julio de 2026, ninguno antes del 5 de marzo de 2026. Junto al valor se muestra cuántos de los siete días llevan esa marca.
- Cada buque cuenta como uno: un superpetrolero cuenta lo mismo que un barco de cabotaje.
- Los días más recientes son provisionales, y los datos tienen de dos a nueve días.
- No dice ni el rumbo, ni la carga, ni el propietario.
- PortWatch ha cambiado lo que cuenta: sus clases de buques y la línea que cruza el estrecho se han redefinido más de una vez.

## Fuentes

- [FMI, PortWatch, estrecho de Ormuz](https://portwatch.imf.org/pages/cb5856222a5b4105adc6ee7e880a1730), actualizado los martes con los días hasta el domingo. Atribución: IMF PortWatch (portwatch.imf.org). Sus condiciones permiten el uso no comercial y de investigación
- La comparación con el año anterior es práctica del propio PortWatch
`,

	"iowa-corn-yield": `## Qué dice

Cuánto maíz rendirá este año un acre de Iowa, en la medida en que hoy puede preverse, y si es más de lo que cabe esperar por la tendencia de las semillas y los fertilizantes. Iowa cultiva más maíz que ningún otro estado. Las cifras de esta ficha están en bushels por acre; las páginas en español las dan en toneladas por hectárea.

## Cómo se obtiene

El valor pasa por tres etapas en cada campaña:

- desde el 1 de mayo: la tendencia, una recta de mínimos cuadrados de los 25 últimos rendimientos finales. Necesita el dato final del año anterior
- de agosto a noviembre: una combinación de esa tendencia y la previsión del mes del servicio de estadística agraria de Estados Unidos (NASS, del USDA), que se basa en encuestas a agricultores y, más tarde, en recuentos en los campos

      combinación = w * previsión + (1 - w) * tendencia,   w = T / (T + F)

  T y F son los errores cuadráticos medios de la tendencia y de las previsiones del mismo mes en los 25 últimos años como máximo: cada una pesa la inversa del suyo. Con menos de cinco errores de alguna de las dos, ambas pesan lo mismo
- desde enero: el rendimiento final

Un valor lleva la fecha del 1 de mayo, del primer día del mes de la previsión o del 1 de enero posterior a la cosecha. Los errores son el final menos la previsión, y en cada punto solo se usan los de campañas anteriores. Un informe cancelado (octubre de 2013, octubre de 2025) deja su mes vacío.

El tiempo y los índices de vegetación quedan fuera: la lluvia y el calor de julio y agosto explican buena parte del pasado, pero al prever de 1996 a 2011 solo con años anteriores lo hicieron peor (error de 13,3) que la tendencia (11,7). Las calificaciones del estado de los cultivos quedan fuera porque no había historia con que probarlas.

## Referencia y puntuación z

La referencia es la tendencia. La escala es la raíz del error cuadrático medio de la propia tendencia en los 25 últimos años, cada uno frente a los 25 anteriores; necesita 20.

    z = (valor - tendencia) / escala
    diferencia en porcentaje = 100 * (valor / tendencia - 1)

En Iowa la tendencia se desvió de los rendimientos finales de 1986 a 2011 en 17,7 bushels (raíz del error cuadrático medio), 12,9 de media, y quedó 2,9 por debajo.

## El intervalo

Construido para el 90 %, acota el rendimiento final: con los cuantiles de los errores de la misma etapa en las 25 últimas campañas, al menos 20 de ellos, situados de modo que un error nuevo tenga la misma probabilidad de caer en cualquiera de los huecos entre los anteriores. Los errores de la tendencia se toman en porcentaje, porque crecieron con los rendimientos; los de una combinación, en bushels, porque no crecieron. Antes de que haya 20 se usa una distribución t: para la tendencia, la banda de la propia recta, y para una combinación, t veces la raíz del error cuadrático medio. Un dato final no tiene intervalo.

El intervalo de la tendencia contuvo 107 de los 121 rendimientos finales de Iowa de 1891 a 2011 (88 %). Para las combinaciones, la historia disponible es la de Illinois: allí los intervalos de 1980 a 2024 contuvieron el 91 % (agosto), el 89 % (septiembre), el 93 % (octubre) y el 96 % (noviembre). El historial que acompaña a un valor se refiere a una sola etapa, la última alcanzada; la prueba retrospectiva las cuenta todas.

## Prueba retrospectiva

La combinación de la primera previsión de cada campaña se contrasta con el final, ambos como distancias de la tendencia. La prueba retrospectiva da además, para cada etapa, el error, el sesgo, la cobertura del intervalo y la mejora sobre la tendencia. En Illinois, de 1980 a 2024, el error de la combinación fue de 12,3 bushels en agosto; 9,4 en septiembre; 6,2 en octubre y 4,7 en noviembre, donde la tendencia sola tuvo 20,8. El NASS por sí solo estuvo más cerca del final en los cuatro meses: 10,7; 8,1; 4,9 y 2,8. La ventaja que tiene la combinación es la de su fuente. Desde 1986, cuando los pesos se apoyan en cinco años o más, la combinación tuvo 11,3; 9,0; 5,0 y 2,7, y el NASS por sí solo, 10,4; 8,6; 5,2 y 2,8.

El NASS revisa los datos finales. Por eso los casos con valores anteriores a la primera consulta pueden contener información que entonces no se conocía. La prueba lo advierte, dice por qué y cuenta esos casos por separado.

## Qué no puede decir

- Entre mayo y la primera previsión no sabe nada de la campaña: una sequía en julio aparece en agosto.
- La tendencia es una recta. Donde los rendimientos suben más deprisa o más despacio que en los 25 últimos años, se queda atrás.
- La combinación trata los dos errores como independientes. No lo son: en un año de sequía ambos son demasiado altos.
- Los datos finales pueden revisarse años después, casi siempre tras un censo agrario.
- Es el rendimiento de un estado, no la cosecha ni el precio.

## Fuentes

- [USDA NASS, Quick Stats](https://quickstats.nass.usda.gov/): Crop Production, hacia el día 12 de agosto a noviembre, y el resumen anual hacia el 12 de enero. La fila de una campaña en curso que solo repite la última previsión no se toma por un dato final

Los datos del NASS son de dominio público; el NASS pide que se le cite.
`,

	"lng-arbitrage": `## Qué dice

Si compensa licuar gas en la costa estadounidense del Golfo, llevarlo a Europa y venderlo allí. Un margen amplio atrae todos los cargamentos que las terminales pueden producir. Un margen negativo indica que un comprador con contrato pierde dinero con el cargamento. Con un margen a corto plazo negativo, le conviene más cancelarlo y pagar solo la tarifa. La puntuación z dice lo inusual que es el margen frente a los cinco años anteriores.

## Cómo se obtiene

Cada mes con los dos precios:

    margen = TTF - (1,15 * Henry Hub + 3,00) - 0,90 de flete - 0,40 de regasificación

- TTF: gas natural en Europa, media mensual en dólares por millón de Btu, Pink Sheet del Banco Mundial
- Henry Hub: gas natural en Estados Unidos, igual
- 115 % del Henry Hub más 3,00: el precio del contrato de Cheniere con Centrica (formulario 8-K de 2013); los contratos anteriores tienen 2,25
- flete y regasificación: supuestos. Las tarifas de flete y de terminal no tienen fuente gratuita

Los componentes, cada uno comparado con sus propios 60 meses:

- el margen hacia Asia, con 2,00 de flete, 0,30 de regasificación y, como precio de destino, el de importación de gas natural licuado de Japón. Ese precio mezcla contratos largos y cargamentos al contado y sigue al petróleo con retraso. No es el JKM, el precio al contado de Asia, que no es gratuito
- ambos márgenes a corto plazo, sin la tarifa de 3,00, que un comprador con contrato paga cargue o no
- los tres precios

La señal enumera los supuestos. La serie empieza en abril de 2015, cuando el precio europeo del Pink Sheet pasó a ser el del TTF; el precio de importación en frontera anterior es otro y no se empalma. Un mes en que falta un precio no tiene valor.

## Referencia y puntuación z

La referencia es la mediana de los 60 meses anteriores, sin el propio mes; tienen que conocerse al menos 36. La escala es 1,4826 veces la desviación absoluta mediana respecto de esa mediana, que para valores normales es su desviación típica.

    z = (margen - referencia) / escala
    diferencia en porcentaje = 100 * (margen / referencia - 1), desconocida si la referencia no es positiva

La mediana y la desviación absoluta se usan por 2022: a comienzos de 2026 la media de los 60 meses era de 9,93 con una desviación típica de 11,96, y la mediana de 4,74 con 3,53.

## El intervalo

    margen ± 0,75

Los precios son medias publicadas y cambian rara vez; lo incierto son los costes. La mitad del ancho es la diferencia entre las tarifas de contratos conocidos, 3,00 y 2,25. El intervalo es un supuesto: el margen verdadero nunca se ve, así que no hay ninguna probabilidad detrás, tampoco el 90 % para el que se construyen los intervalos de otras señales. No dice nada de dónde estará el margen el mes que viene: de 2015 a 2026 se movió más de 0,75 en 47 de 100 meses. El margen hacia Asia es aún menos seguro: el mes más reciente del precio de importación de Japón es una estimación que después se cambió entre 0,12 y 1,97.

## Prueba retrospectiva

La puntuación z, con el signo cambiado, se contrasta con la variación del precio europeo en los tres meses posteriores a que se conociera: los márgenes amplios deberían atraer cargamentos y bajar el precio. Hasta 2026 hubo 90 casos, con una crisis entre ellos: demasiado pocos para demostrar gran cosa en un sentido o en otro.

El Banco Mundial cambia los meses más recientes del precio de Japón. Por eso los casos con valores anteriores a la primera consulta pueden contener información que entonces no se conocía. La prueba lo advierte, dice por qué y cuenta esos casos por separado.

## Qué no puede decir

- Es una media de un mes: lo que un operador vio un día concreto fue otro margen.
- Una tarifa, un flete y una terminal representan cientos de contratos.
- Quedan fuera la evaporación, el tiempo en el mar (de dos a cuatro semanas), las coberturas y los impuestos.
- Europa compra también en otros sitios, y las terminales de la costa del Golfo trabajan a pleno rendimiento durante años: un margen más amplio no siempre puede traer más gas.
- Asia se muestra con un indicador lento: en él no se lee el mes en que los cargamentos cambian de una cuenca a otra.

## Fuentes

- [Banco Mundial, mercados de materias primas](https://www.worldbank.org/en/research/commodity-markets), «Pink Sheet», precios mensuales, publicados del día 2 al 4 de cada mes con el mes anterior, CC BY 4.0
- La fórmula sigue la redacción de los contratos; margen más bajo de la serie -4,74 (mayo de 2020), más alto 55,64 (agosto de 2022)
`,

	"tropomi-no2-economic": `## Qué dice

El dióxido de nitrógeno sale de motores, centrales eléctricas y hornos y desaparece en horas, así que el aire sobre una región industrial muestra lo que funciona en ella ahora. El índice es la media de ocho de esas regiones, cada una frente a su propio pasado: 100 es un mes habitual; 90, uno con una décima parte menos de dióxido de nitrógeno que el mismo mes de los años anteriores.

## Cómo se obtiene

El instrumento TROPOMI, a bordo de Sentinel-5P, ve toda la Tierra una vez al día. El KNMI publica medias mensuales de la columna de dióxido de nitrógeno de la baja atmósfera en una cuadrícula de un octavo de grado. De ellas salen las medias de ocho rectángulos: delta del Yangtsé, delta del río de las Perlas, Benelux y Ruhr, valle del Po, Delhi, bahía de Tokio, Houston y Nueva York. El mes de una región necesita valor en al menos el 60 % de sus celdas; las celdas negativas son ruido en torno a cero y cuentan. Después,

    anomalía de una región = ln(media del mes) - media en los años de referencia de ln(media del mismo mes)
    índice = 100 * exp(media de las anomalías de las regiones que cuentan)

Una región tiene anomalía si su media es mayor que cero y tiene al menos un año de referencia; deben tenerla al menos cinco de las ocho. Donde al menos cinco tienen tres años de referencia o más, solo cuentan esas; si no, todas las que tienen anomalía. Las que cuentan pesan lo mismo. Los años de referencia de un mes son todos los anteriores al suyo menos 2020, de modo que un índice calculado con unos datos no cambia con los meses posteriores. Con el paso de los años hay más. Una versión nueva del producto del KNMI desplaza el nivel: un mes solo se compara con meses de la misma versión (el número anterior al punto).

## Referencia y puntuación z

La referencia es 100. La escala es la desviación típica muestral de las anomalías logarítmicas anteriores del propio índice, sin las de 2020; necesita doce que se apoyen en tres años de referencia.

    z = anomalía logarítmica del mes / escala
    diferencia en porcentaje = índice - 100

En un mes en que una región que cuenta tiene menos de tres años de referencia (antes de mayo de 2022; los datos empiezan en mayo de 2018) el índice se muestra sin puntuación z ni intervalo.

## El intervalo

    100 * exp(anomalía logarítmica ± 1,645 * raíz(s^2 + r^2))

- s: la escala, que es cuánto se aparta el índice de su época de un año a otro, sobre todo por el tiempo
- r: el error típico de la media según la dispersión de las regiones

Pretende acotar la parte del índice que no se debe ni al tiempo ni a la elección de las regiones. Ningún instrumento muestra esa parte, así que el intervalo es un supuesto: 1,645 es lo que necesitaría el 90 % de unos errores normales, y no se afirma ninguna probabilidad. Es ancho, y lo es con razón: las medias de dos quincenas seguidas difieren por un factor de 1,15 en Italia; 1,41 en los Países Bajos y 1,47 en el Reino Unido (media cuadrática).

## Prueba retrospectiva

Entre las fuentes no hay ninguna serie mensual gratuita de producción industrial, así que el índice no se contrasta con ninguna. Se contrasta consigo mismo: si a un mes por encima de su época le siguen otros iguales. Eso muestra persistencia y nada más. El evento conocido es la primavera de 2020: sobre Pekín la columna de febrero a mayo estuvo un 30 % por debajo del año anterior; sobre Londres, un 34 %; sobre Nueva Delhi, un 38 %.

TEMIS vuelve a procesar meses antiguos. Por eso los casos con valores anteriores a la primera consulta pueden contener información que entonces no se conocía. La prueba lo advierte, dice por qué y cuenta esos casos por separado.

## Qué no puede decir

- Primero, el tiempo: el viento y la lluvia adelgazan las columnas y el invierno alarga la vida del gas. Un solo mes por debajo de 90 u 85 no demuestra nada.
- Las tendencias del aire no son tendencias de la producción: los filtros, los planes de renovación y los coches eléctricos bajan el índice mientras la economía crece.
- Las nubes ocultan ciudades; los meses de monzón en Delhi y el sur de China se apoyan en pocos días despejados.
- Ocho rectángulos no son la economía mundial, y los pesos iguales no son las cuotas de comercio de nadie.
- De tres a siete años de referencia son pocos.

## Fuentes

- [TEMIS, KNMI: medias mensuales de NO2 de TROPOMI](https://www.temis.nl/airpollution/no2col/no2month_tropomi.php), unas semanas después del fin de cada mes. Contiene datos modificados de Copernicus Sentinel (de 2018 hasta ahora), procesados por el KNMI
`,
}
