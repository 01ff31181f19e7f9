package pt

// briefs are the methods of the signals in Markdown, by their ids. They have the numbers of the English ones in the signals' files.
var briefs = map[string]string{
	"crack-spread-321": `## O que diz

Uma refinaria compra petróleo e vende o que obtém dele. O crack spread 3:2:1 é a margem bruta de uma refinaria-modelo que transforma três barris de petróleo em dois de gasolina e um de diesel, por barril de petróleo. Uma margem larga indica que os derivados estão escassos em relação ao petróleo: para as refinarias, compensa operar a plena carga. Uma margem estreita ou negativa indica que o petróleo está caro ou que os derivados se acumulam. O escore z diz quão incomum é a margem para a época do ano: ela costuma se alargar antes da temporada de viagens de carro e com os primeiros frios.

## Como é obtido

Em cada dia com os três preços:

    margem = (2 * 42 * gasolina + 42 * diesel - 3 * petróleo) / 3

- petróleo: WTI à vista em Cushing (Oklahoma), em dólares por barril (EIA RWTC)
- gasolina: comum convencional à vista no porto de Nova York, em dólares por galão (EIA EER_EPMRU_PF4_Y35NY_DPG)
- diesel: de ultrabaixo teor de enxofre, nº 2, à vista no porto de Nova York, em dólares por galão (EIA EER_EPD2DXL0_PF4_Y35NY_DPG)
- 42: galões em um barril

Um dia em que falta um preço não tem valor; nenhum preço é repetido no dia seguinte. A série começa em 14 de junho de 2006, com a série do diesel. O óleo de aquecimento, que era o destilado antes disso, é outro produto e não é emendado. Preços de 84,54; 2,57 e 2,79 resultam em US$ 26,48 por barril.

## Referência e escore z

A referência é a média de todos os valores a até 15 dias corridos do mesmo dia e mês em cada um dos cinco anos anteriores (29 de fevereiro conta como 28 quando o ano não o tem), entre 105 e 111 valores. A escala é o desvio-padrão amostral deles. Só entram anos com pelo menos 10 valores na janela; com menos de três desses anos não há referência.

    z = (margem - referência) / escala
    diferença em porcentagem = 100 * (margem / referência - 1), desconhecida se a referência não for positiva

O sinal traz ainda o escore z da margem em relação aos seus 252 valores anteriores, que não considera a época do ano, e cada preço em relação à sua própria época em cinco anos.

## O intervalo

Os preços são conhecidos com exatidão, mas têm alguns dias quando são lidos: a EIA publica às quartas-feiras os preços diários da semana. O intervalo, construído para 90%, delimita onde a margem pode estar agora se continuou a se mover em passos do tamanho habitual:

    margem ± 1,645 * s * raiz(d)

- s: desvio-padrão amostral das últimas 60 variações diárias
- d: dias de segunda a sexta-feira entre o dia dos preços e o da leitura (UTC; feriados contam). Para o valor mais recente é o instante do cálculo, de modo que o intervalo se alarga até chegarem preços novos; para os anteriores, é o dia em que ficaram conhecidos, 14 dias no máximo.

Ele é comparado com a margem do dia da leitura como a EIA a publicou depois, ou com a do último dia anterior com os três preços. De setembro de 2006 a dezembro de 2025 ele a conteve em 916 de 1.004 divulgações (91,2%), cada uma lida na sua quarta-feira. Dos dias que tinham preço exatamente dois, cinco ou nove dias depois, conteve esse preço em 90,4%; 91,7% e 92,7%.
Os saltos são maiores do que um passeio aleatório permite: em uma semana como a de 20 de abril de 2020 o intervalo é estreito demais antes e largo demais depois.

## Backtest

O escore z, com o sinal trocado, é comparado com a variação da própria margem nos 20 pregões depois que o valor ficou conhecido: uma margem larga deveria se estreitar. Os valores contam a partir da quarta-feira em que foram publicados, e a variação começa depois dela. Até dezembro de 2025 a correlação de postos foi de 0,108. O oposto da última variação da margem em 20 pregões teve 0,189: essa regra simples vence.

A EIA já publicou e retirou linhas de feriados. Por isso os casos com valores anteriores à primeira consulta podem conter informação que ainda não era conhecida. O backtest avisa isso, diz por quê e conta esses casos à parte.

## O que não pode dizer

- A gasolina é a convencional, não RBOB, a base do contrato negociado em bolsa. Não existe preço diário gratuito de RBOB à vista em Nova York.
- São avaliações à vista, não futuros: o número difere do crack spread cotado em bolsa e não pode ser negociado.
- O petróleo é cotado em Cushing e os derivados em Nova York: o custo do transporte está dentro da margem. As refinarias da costa leste processam sobretudo outros tipos de petróleo.
- Não é lucro: ficam de fora energia, mão de obra, créditos de mistura (RINs) e os rendimentos próprios de uma refinaria real.
- Valores extremos são mantidos. Em 20 de abril de 2020 o petróleo custava -US$ 36,98 e a margem era de US$ 65,62, com escore z de 15,9: a conta está certa e não significa refinarias ricas. Leia um escore z acima de 8 como sinal de distorção em um dos preços. A maior margem da série é 75,89 (13 de maio de 2022), e a menor, -1,62 (22 de setembro de 2008).
- Cinco anos que incluem 2022 dão uma escala larga: os escores z desses anos são moderados.

## Fontes

- [EIA, preços à vista](https://www.eia.gov/dnav/pet/pet_pri_spt_s1_d.htm), publicados às quartas-feiras com os dias até segunda ou terça-feira; os valores raramente são revisados, mas linhas de feriados já foram publicadas e retiradas
- A proporção é a da calculadora de crack spread da CME e a da EIA

Os dados da EIA são de domínio público. Os metadados da própria EIA dizem que os preços diários à vista são fornecidos por terceiros.
`,

	"eia-weekly-petroleum": `## O que diz

Quanto petróleo havia nos tanques comerciais dos Estados Unidos no fim da semana e se isso é muito para a época do ano. Estoques acima do habitual indicam que a oferta superou o consumo das refinarias; abaixo, que o petróleo está sendo consumido dos tanques. O mercado olha mais para a variação da semana do que para o nível e, da variação, para a parte que a época do ano não explica.

## Como é obtido

O valor é a estimativa semanal da EIA dos estoques de petróleo sem a reserva estratégica, em milhares de barris (WCESTUS1), como publicada. Os componentes são os estoques de gasolina (WGTSTUS1), os de destilados (WDISTUS1) e o uso da capacidade de refino operável em porcentagem (WPULEUS3). Nada é ajustado, suavizado ou preenchido: uma semana que falta não tem valor.

## Referência e escore z

A mesma semana de um ano anterior é a sexta-feira a até três dias do mesmo dia e mês (29 de fevereiro conta como 28 quando o ano não o tem); há exatamente uma. A referência é a média da mesma semana nos cinco anos anteriores; a escala, o desvio-padrão amostral. Com menos de três anos correspondentes não há referência.

    z = (estoques - referência) / escala
    diferença em porcentagem = 100 * (estoques / referência - 1)

O menor e o maior dos cinco são a "faixa de cinco anos" dos gráficos da EIA. Cinco valores dão uma escala grosseira: leia um escore z abaixo de 2 como "dentro do habitual para a época".

## A surpresa sazonal

    surpresa = variação da semana - variação média da mesma semana nos cinco anos anteriores
    z da surpresa = surpresa / desvio-padrão amostral dessas cinco variações

Na semana até 16 de maio de 2025 os estoques subiram 1.328 mil barris, quando nos cinco anos anteriores a queda média tinha sido de 3.537: uma surpresa de +4.865 e um escore z de 0,84.

## O intervalo

Os estoques mais os quantis de 5% e de 95% das surpresas dos últimos cinco anos, incluída a mais recente. Os quantis são surpresas que aconteceram, por isso o intervalo pode ser mais longo de um lado; ele precisa de 104 delas. Construído para 90%, delimita os estoques da semana seguinte como a EIA os publicar pela primeira vez. De 1987 a maio de 2026 ele os conteve em 1.805 de 2.010 semanas (89,8%).

Não é o erro amostral da pesquisa, que a EIA não publica com a série.

## Backtest

O escore z dos estoques, com o sinal trocado, é comparado com a variação do preço à vista do WTI nos 20 pregões depois do relatório: tanques cheios deveriam baratear o petróleo. É isso que se testa, não a surpresa sazonal.

A EIA já publicou e retirou linhas de feriados do preço do petróleo. Por isso os casos com valores anteriores à primeira consulta podem conter informação que ainda não era conhecida. O backtest avisa isso, diz por quê e conta esses casos à parte.

## O que não pode dizer

- A surpresa é medida em relação à época do ano, não ao que os analistas esperavam. O consenso deles não é gratuito; um número que surpreende para a época pode ser justamente o que o mercado já tinha no preço.
- Os números semanais são estimativas de uma amostra de empresas. São substituídos por números mensais em outras séries e não são revisados: de 2.058 semanas nenhuma mudou em quatro anos.
- Os estoques comerciais respondem às vendas e compras da reserva estratégica, que não faz parte deles.
- Os totais nacionais escondem o lugar: em Cushing, onde o contrato futuro é entregue, pode faltar petróleo enquanto o total é abundante.
- Neblina na costa do Golfo, furacões e a data de um feriado deslocam barris entre semanas.
- Cinco anos que incluem 2020 dão uma referência alta e larga.

## Fontes

- [EIA, Weekly Petroleum Status Report](https://www.eia.gov/petroleum/supply/weekly/), com a semana até sexta-feira, às quartas-feiras às 10h30 de Nova York e, depois de um feriado, quase sempre na quinta-feira

Os dados da EIA são de domínio público como obra do governo dos Estados Unidos. A EIA pede para ser citada com a data de publicação.
`,

	"hormuz-transit": `## O que diz

Quantos navios passam por dia pelo estreito de Ormuz e se são muitos para a época do ano. Por ele sai do golfo Pérsico grande parte do petróleo e do gás liquefeito do mundo, e por mar não há outro caminho. Um número muito abaixo do habitual é uma interrupção que o mercado de petróleo precisa precificar.

## Como é obtido

O PortWatch, do FMI, conta navios pelos sinais de seus transmissores (AIS), cada navio uma vez em 48 horas: porta-contêineres, graneleiros, carga geral, ro-ro e petroleiros. O valor é a média de sete dias da contagem diária dos cinco tipos:

    valor = (contagem do dia + contagens dos seis dias anteriores) / 7

Os sete dias precisam ser conhecidos; uma contagem de zero é uma contagem. Os componentes são os petroleiros à parte, comparados com a própria época, todos os navios em relação à média de 364 dias (52 semanas) antes, e o número de dias com cobertura ruim.

## Referência e escore z

A referência é a média de todas essas médias de sete dias a até 15 dias corridos do mesmo dia e mês (29 de fevereiro conta como 28 quando o ano não o tem) nos anos de 2019 a 2024 anteriores ao do valor: 186 médias quando os seis contam. A escala é o desvio-padrão amostral delas. Só entram anos dos quais se conhecem pelo menos 16 das 31 médias. Com menos de três desses anos não há referência, por isso a primeira é de janeiro de 2022. Nada depois de janeiro de 2025 entra: o fechamento de março de 2026 não deve passar a ser o habitual.

    z = (valor - referência) / escala
    diferença em porcentagem = 100 * (valor / referência - 1)

O PortWatch reestima toda a história de tempos em tempos: entre abril e julho de 2026 quase todos os dias mudaram, e no meio de 2026 todos eles, por um fator mediano de 0,83. Por isso valor e referência vêm sempre da mesma versão dos dados, e um cálculo antigo não deve ser comparado com uma referência nova.

## O intervalo

Ele delimita, construído para 90%, a média dos mesmos sete dias como o PortWatch a reestimar na próxima vez. Não delimita o número verdadeiro de navios, que nunca se vê, nem a semana seguinte. As reestimativas são comparadas em uma escala na qual cabem juntas semanas de poucos e de muitos navios:

    x = 2 * raiz(7 * média + 0,375)
    inferior = ((máx(0, x(valor) + abaixo) / 2)^2 - 0,375) / 7, nunca abaixo de 0
    superior = ((máx(0, x(valor) + acima) / 2)^2 - 0,375) / 7

- abaixo, acima: os quantis de 5% e de 95% de x(depois) - x(antes), cada semana de segunda-feira a domingo pela última reestimativa dela que se conhece: de n diferenças ordenadas, a da posição p * (n + 1), e entre duas delas em proporção; abaixo é no máximo 0 e acima no mínimo 0. Assim o intervalo é mais longo do lado para o qual o PortWatch move suas contagens
- Com menos de 20 dessas semanas supõem-se -6,9 e 3,4: o que se observou em 52 semanas entre 21 de abril e 6 de julho de 2026

O histórico conta só intervalos aprendidos, cada um comparado com uma reestimativa posterior. Com menos de 20, o intervalo é uma suposição e nenhuma probabilidade é afirmada. Todas as semanas de uma reestimativa se movem juntas, por isso um histórico de poucas reestimativas diz menos do que seu número de semanas. O intervalo anterior a este era simétrico: das 52 semanas de abril conteve 88%, e 93% de 359 médias sobrepostas. O tráfego varia mais do que os erros de contagem: a diferença entre duas semanas seguidas é 2,4 vezes a que o acaso faria.

## Backtest

O escore z, com o sinal trocado, é comparado com a variação do preço à vista do WTI nos 20 pregões depois que ficou conhecido: menos navios deveriam encarecer o petróleo. Os anos desde 2022 contêm um só fechamento, e um mercado que fica sabendo dele em minutos.

O PortWatch reestima quase todos os dias. Por isso os casos com valores anteriores à primeira consulta podem conter informação que ainda não era conhecida. O backtest avisa isso, diz por quê e conta esses casos à parte.

## O que não pode dizer

- Navios que desligam o transmissor ou sofrem interferência não são contados. Em um conflito, uma contagem baixa é um limite superior da interrupção: alguns dos navios que parecem faltar podem ter passado sem ser vistos. Nos dados do PortWatch esses dias se reconhecem por petroleiros sem nenhuma carga: 12 dias até julho de 2026, nenhum antes de 5 de março de 2026. Ao lado do valor se mostra quantos dos sete dias trazem essa marca.
- Cada navio conta como um: um superpetroleiro conta tanto quanto um navio de cabotagem.
- Os dias mais recentes são provisórios, e os dados têm de dois a nove dias.
- Não diz nem o rumo, nem a carga, nem o dono.
- O PortWatch já mudou o que conta: suas classes de navios e a linha que cruza o estreito foram redefinidas mais de uma vez.

## Fontes

- [FMI, PortWatch, estreito de Ormuz](https://portwatch.imf.org/pages/cb5856222a5b4105adc6ee7e880a1730), atualizado às terças-feiras com os dias até domingo. Atribuição: IMF PortWatch (portwatch.imf.org). Seus termos permitem uso não comercial e de pesquisa
- Comparar com o ano anterior é prática do próprio PortWatch
`,

	"iowa-corn-yield": `## O que diz

Quanto milho um acre de Iowa vai render neste ano, até onde isso pode ser previsto hoje, e se é mais do que indica a tendência das sementes e dos fertilizantes. Iowa planta mais milho do que qualquer outro estado. Os números desta ficha estão em bushels por acre; as páginas em português os mostram em toneladas por hectare.

## Como é obtido

O valor passa por três etapas em cada safra:

- desde 1º de maio: a tendência, uma reta de mínimos quadrados das últimas 25 produtividades finais. Precisa da produtividade final do ano anterior
- de agosto a novembro: uma combinação dessa tendência com a previsão do mês do serviço de estatística agrícola dos Estados Unidos (NASS, do USDA), que se baseia em pesquisas com agricultores e, mais tarde, em contagens nos campos

      combinação = w * previsão + (1 - w) * tendência,   w = T / (T + F)

  T e F são as médias dos quadrados dos erros passados da tendência e das previsões do mesmo mês, dos últimos 25 anos no máximo: cada uma pesa o inverso da sua. Com menos de cinco erros de uma das duas, ambas pesam o mesmo
- desde janeiro: a produtividade final

Um valor leva a data de 1º de maio, do primeiro dia do mês da previsão ou de 1º de janeiro depois da colheita. Os erros são o final menos a previsão, e em cada ponto só se usam os de safras anteriores. Um relatório cancelado (outubro de 2013, outubro de 2025) deixa o mês vazio.

O clima e os índices de vegetação ficam de fora: a chuva e o calor de julho e agosto explicam boa parte do passado, mas, ao prever de 1996 a 2011 só com anos anteriores, saíram-se pior (erro de 13,3) do que a tendência (11,7). As avaliações da condição das lavouras ficam de fora porque não havia história com que testá-las.

## Referência e escore z

A referência é a tendência. A escala é a raiz do erro quadrático médio da própria tendência nos últimos 25 anos, cada um em relação aos 25 anteriores; ela precisa de 20.

    z = (valor - tendência) / escala
    diferença em porcentagem = 100 * (valor / tendência - 1)

Em Iowa a tendência errou os finais de 1986 a 2011 por 17,7 bushels (raiz do erro quadrático médio), 12,9 em média, e ficou 2,9 abaixo.

## O intervalo

Construído para 90%, ele delimita a produtividade final: pelos quantis dos erros da mesma etapa nas últimas 25 safras, pelo menos 20 deles, colocados de modo que um erro novo tenha a mesma chance de cair em qualquer um dos vãos entre os antigos. Os erros da tendência são tomados em porcentagem, porque cresceram com as produtividades; os de uma combinação, em bushels, porque não cresceram. Antes de haver 20 usa-se uma distribuição t: para a tendência, a faixa da própria reta, e para uma combinação, t vezes a raiz do erro quadrático médio. Um dado final não tem intervalo.

O intervalo da tendência conteve 107 dos 121 finais de Iowa de 1891 a 2011 (88%). Para as combinações, a história disponível é a de Illinois: ali os intervalos de 1980 a 2024 contiveram 91% (agosto), 89% (setembro), 93% (outubro) e 96% (novembro). O histórico que acompanha um valor abrange uma só etapa, a última alcançada; o backtest conta todas.

## Backtest

A combinação da primeira previsão de cada safra é comparada com o final, ambos como distâncias da tendência. O backtest traz também, para cada etapa, o erro, o viés, a cobertura do intervalo e o ganho sobre a tendência. Em Illinois, de 1980 a 2024, o erro da combinação foi de 12,3 bushels em agosto; 9,4 em setembro; 6,2 em outubro e 4,7 em novembro, onde a tendência sozinha teve 20,8. O NASS sozinho ficou mais perto do final nos quatro meses: 10,7; 8,1; 4,9 e 2,8. A vantagem que a combinação tem é a da sua fonte. Desde 1986, quando os pesos se apoiam em cinco anos ou mais, a combinação teve 11,3; 9,0; 5,0 e 2,7, e o NASS sozinho, 10,4; 8,6; 5,2 e 2,8.

O NASS revisa os dados finais. Por isso os casos com valores anteriores à primeira consulta podem conter informação que ainda não era conhecida. O backtest avisa isso, diz por quê e conta esses casos à parte.

## O que não pode dizer

- Entre maio e a primeira previsão não sabe nada da safra: uma seca em julho aparece em agosto.
- A tendência é uma reta. Onde as produtividades sobem mais depressa ou mais devagar do que nos últimos 25 anos, ela fica para trás.
- A combinação trata os dois erros como independentes. Não são: em um ano de seca os dois são altos demais.
- Os finais podem ser revisados anos depois, quase sempre após um censo agropecuário.
- É a produtividade de um estado, não a safra nem o preço.

## Fontes

- [USDA NASS, Quick Stats](https://quickstats.nass.usda.gov/): Crop Production, por volta do dia 12 de agosto a novembro, e o resumo anual por volta de 12 de janeiro. A linha de uma safra em curso que apenas repete a última previsão não é tomada por um final

Os dados do NASS são de domínio público; o NASS pede para ser citado.
`,

	"lng-arbitrage": `## O que diz

Se compensa liquefazer gás na costa americana do Golfo, levá-lo à Europa e vendê-lo lá. Uma margem larga atrai todas as cargas que os terminais conseguem produzir. Uma margem negativa indica que um comprador com contrato perde dinheiro com a carga. Com uma margem de curto prazo negativa, é melhor cancelar a carga e pagar só a tarifa. O escore z diz quão incomum é a margem em relação aos cinco anos anteriores.

## Como é obtido

Em cada mês com os dois preços:

    margem = TTF - (1,15 * Henry Hub + 3,00) - 0,90 de frete - 0,40 de regaseificação

- TTF: gás natural na Europa, média mensal em dólares por milhão de Btu, Pink Sheet do Banco Mundial
- Henry Hub: gás natural nos Estados Unidos, do mesmo modo
- 115% do Henry Hub mais 3,00: o preço do contrato da Cheniere com a Centrica (formulário 8-K de 2013); contratos anteriores têm 2,25
- frete e regaseificação: premissas. Tarifas de frete e de terminal não têm fonte gratuita

Os componentes, cada um comparado com seus próprios 60 meses:

- a margem para a Ásia, com 2,00 de frete, 0,30 de regaseificação e, como preço de destino, o de importação de gás natural liquefeito do Japão. Esse preço mistura contratos longos e cargas à vista e segue o petróleo com atraso. Não é o JKM, o preço à vista da Ásia, que não é gratuito
- as duas margens no curto prazo, sem a tarifa de 3,00, que um comprador com contrato paga carregando ou não
- os três preços

O sinal lista as premissas. A série começa em abril de 2015, quando o preço europeu do Pink Sheet passou a ser o do TTF; o preço de importação na fronteira, anterior, é outro e não é emendado. Um mês em que falta um preço não tem valor.

## Referência e escore z

A referência é a mediana dos 60 meses anteriores, sem o próprio mês; pelo menos 36 precisam ser conhecidos. A escala é 1,4826 vez o desvio absoluto mediano em relação a essa mediana, que para valores normais é o desvio-padrão deles.

    z = (margem - referência) / escala
    diferença em porcentagem = 100 * (margem / referência - 1), desconhecida se a referência não for positiva

A mediana e o desvio absoluto são usados por causa de 2022: no começo de 2026 a média dos 60 meses era 9,93 com desvio-padrão de 11,96, e a mediana, 4,74 com 3,53.

## O intervalo

    margem ± 0,75

Os preços são médias publicadas e raramente mudam; incertos são os custos. A meia largura é a diferença entre as tarifas de contratos conhecidos, 3,00 e 2,25. O intervalo é uma suposição: a margem verdadeira nunca se vê, por isso não há probabilidade por trás dele, nem os 90% para os quais são construídos os intervalos de outros sinais. Ele não diz nada sobre onde a margem estará no mês que vem: de 2015 a 2026 ela se moveu mais de 0,75 em 47 de 100 meses. A margem para a Ásia é ainda menos certa: o mês mais recente do preço de importação do Japão é uma estimativa que depois foi alterada em 0,12 a 1,97.

## Backtest

O escore z, com o sinal trocado, é comparado com a variação do preço europeu nos três meses depois que ficou conhecido: margens largas deveriam atrair cargas e baixar o preço. Até 2026 houve 90 casos, com uma crise entre eles: poucos demais para provar muita coisa em um sentido ou no outro.

O Banco Mundial altera os meses mais recentes do preço do Japão. Por isso os casos com valores anteriores à primeira consulta podem conter informação que ainda não era conhecida. O backtest avisa isso, diz por quê e conta esses casos à parte.

## O que não pode dizer

- É a média de um mês: o que um operador viu em um dia foi outra margem.
- Uma tarifa, um frete e um terminal representam centenas de contratos.
- Ficam de fora a evaporação, o tempo no mar (de duas a quatro semanas), os hedges e os impostos.
- A Europa também compra em outros lugares, e os terminais da costa do Golfo operam a plena carga por anos: uma margem maior nem sempre pode trazer mais gás.
- A Ásia é mostrada por um indicador lento: nele não se lê o mês em que as cargas mudam de uma bacia para a outra.

## Fontes

- [Banco Mundial, mercados de commodities](https://www.worldbank.org/en/research/commodity-markets), "Pink Sheet", preços mensais, publicados do dia 2 ao 4 de cada mês com o mês anterior, CC BY 4.0
- A fórmula segue a redação dos contratos; menor margem da série -4,74 (maio de 2020), maior 55,64 (agosto de 2022)
`,

	"tropomi-no2-economic": `## O que diz

O dióxido de nitrogênio sai de motores, usinas e fornos e some em horas, por isso o ar sobre uma região industrial mostra o que funciona nela agora. O índice é a média de oito dessas regiões, cada uma em relação ao próprio passado: 100 é um mês comum; 90, um mês com um décimo a menos de dióxido de nitrogênio do que o mesmo mês nos anos anteriores.

## Como é obtido

O instrumento TROPOMI, a bordo do Sentinel-5P, vê a Terra inteira uma vez por dia. O KNMI publica médias mensais da coluna de dióxido de nitrogênio da baixa atmosfera em uma grade de um oitavo de grau. Delas saem as médias de oito retângulos: delta do Yangtzé, delta do rio das Pérolas, Benelux e Ruhr, vale do Pó, Délhi, baía de Tóquio, Houston e Nova York. O mês de uma região precisa de valor em pelo menos 60% das células; células negativas são ruído em torno de zero e contam. Então

    anomalia de uma região = ln(média do mês) - média nos anos de referência de ln(média do mesmo mês)
    índice = 100 * exp(média das anomalias das regiões que contam)

Uma região tem anomalia se sua média está acima de zero e ela tem pelo menos um ano de referência; pelo menos cinco das oito precisam tê-la. Onde pelo menos cinco têm três anos de referência ou mais, só essas contam; senão, todas as que têm anomalia. As que contam têm o mesmo peso. Os anos de referência de um mês são todos os anteriores ao seu, menos 2020, de modo que um índice calculado com certos dados não muda com os meses seguintes. Com o passar dos anos há mais deles. Uma nova versão do produto do KNMI desloca o nível: um mês só é comparado com meses da mesma versão (o número antes do ponto).

## Referência e escore z

A referência é 100. A escala é o desvio-padrão amostral das anomalias logarítmicas anteriores do próprio índice, sem as de 2020; ela precisa de doze que se apoiem em três anos de referência.

    z = anomalia logarítmica do mês / escala
    diferença em porcentagem = índice - 100

Em um mês em que uma região que conta tem menos de três anos de referência (antes de maio de 2022; os dados começam em maio de 2018) o índice é mostrado sem escore z nem intervalo.

## O intervalo

    100 * exp(anomalia logarítmica ± 1,645 * raiz(s^2 + r^2))

- s: a escala, que é quanto o índice se afasta da sua época de um ano para outro, sobretudo por causa da meteorologia
- r: o erro-padrão da média segundo a dispersão das regiões

Ele pretende delimitar a parte do índice que não se deve nem à meteorologia nem à escolha das regiões. Nenhum instrumento mostra essa parte, por isso o intervalo é uma suposição: 1,645 é o que 90% de erros normais exigiriam, e nenhuma probabilidade é afirmada. Ele é largo, e com razão: as médias de duas quinzenas seguidas diferem por um fator de 1,15 na Itália; 1,41 na Holanda e 1,47 no Reino Unido (média quadrática).

## Backtest

Entre as fontes não há série mensal gratuita de produção industrial, por isso o índice não é comparado com nenhuma. Ele é comparado consigo mesmo: se um mês acima da sua época é seguido de outros iguais. Isso mostra persistência e nada mais. O evento conhecido é a primavera do hemisfério norte de 2020: sobre Pequim a coluna de fevereiro a maio ficou 30% abaixo do ano anterior; sobre Londres, 34%; sobre Nova Délhi, 38%.

O TEMIS reprocessa meses antigos. Por isso os casos com valores anteriores à primeira consulta podem conter informação que ainda não era conhecida. O backtest avisa isso, diz por quê e conta esses casos à parte.

## O que não pode dizer

- Antes de tudo, a meteorologia: vento e chuva afinam as colunas, e o inverno prolonga a vida do gás. Um único mês abaixo de 90 ou 85 não prova nada.
- Tendências do ar não são tendências da produção: filtros, programas de renovação de frota e carros elétricos baixam o índice enquanto a economia cresce.
- Nuvens escondem cidades; os meses de monção sobre Délhi e o sul da China se apoiam em poucos dias limpos.
- Oito retângulos não são a economia mundial, e pesos iguais não são a participação de ninguém no comércio.
- De três a sete anos de referência são poucos.

## Fontes

- [TEMIS, KNMI: médias mensais de NO2 do TROPOMI](https://www.temis.nl/airpollution/no2col/no2month_tropomi.php), algumas semanas depois do fim de cada mês. Contém dados modificados do Copernicus Sentinel (de 2018 até agora), processados pelo KNMI
`,
}
